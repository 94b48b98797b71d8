"""The application: themes, and the screen that comes first."""

import time
from pathlib import Path

from textual.app import App

from specchat.core.errors import ConfigurationError
from specchat.session.chat import ChatSession
from specchat.session.ports import Clock
from specchat.theming import Theme, load_theme, theme_names
from specchat.ui.screens.chat import ChatScreen
from specchat.ui.textual_patches import survive_bytes_that_are_no_text, tell_alt_enter_apart
from specchat.ui.theme import textual_theme


class ChatApp(App[None]):
    """Shows one session until the user leaves.

    `run_async` returns when the user has left; whoever connected the backends closes them.
    """

    TITLE = "specchat"
    ENABLE_COMMAND_PALETTE = False
    # Textual does not load the style sheet of a screen that is the default one.
    CSS_PATH = "screens/chat.tcss"

    def __init__(
        self,
        session: ChatSession,
        *,
        theme: str,
        theme_directories: tuple[Path, ...] = (),
        export_directory: Path,
        opening_prompt: str | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        """Make the application.

        Args:
            session: Connected.
            theme: Name of the theme to start with.
            theme_directories: Folders with the user's theme files, which need not exist.
            export_directory: Where exports go; made when something is exported.
            opening_prompt: Asked as soon as the screen stands.
            clock: The session's.

        Raises:
            ConfigurationError: If there is no such theme, or it makes no sense.
        """
        tell_alt_enter_apart()
        survive_bytes_that_are_no_text()
        super().__init__()
        self._theme_directories = theme_directories
        self._look = load_theme(theme, theme_directories)
        self._other_look: Theme | None = None
        """What the theme key goes to; chosen when it is first pressed."""
        self.register_theme(textual_theme(self._look))
        self.theme = self._look.name
        self._chat = ChatScreen(
            session, self._look, clock=clock, export_directory=export_directory, opening_prompt=opening_prompt
        )

    def get_default_screen(self) -> ChatScreen:
        """The chat."""
        return self._chat

    def action_toggle_theme(self) -> None:
        """Take the first theme that is light where this one is dark, or the other way round; then go back."""
        other = self._other_look or self._opposite()
        if other is None:
            return
        self._look, self._other_look = other, self._look
        self.register_theme(textual_theme(other))
        self.theme = other.name
        self._chat.show_theme(other)

    def _opposite(self) -> Theme | None:
        """The theme called light or dark, else the first of the other kind that can be used."""
        usual = "light" if self._look.dark else "dark"
        for name in sorted(theme_names(self._theme_directories), key=lambda name: name != usual):
            try:
                theme = load_theme(name, self._theme_directories)
            except ConfigurationError:
                continue
            if theme.dark is not self._look.dark:
                return theme
        return None
