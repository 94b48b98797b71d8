"""The application: themes, and the screen that comes first."""

import time
from pathlib import Path

from textual.app import App

from specchat.session.chat import ChatSession
from specchat.session.ports import Clock
from specchat.theming import load_theme, theme_names
from specchat.ui.screens.chat import ChatScreen
from specchat.ui.textual_patches import tell_alt_enter_apart
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
        export_directory: Path,
        opening_prompt: str | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        """Make the application.

        Args:
            session: Connected.
            theme: Name of the theme to start with.
            export_directory: Where exports go; made when something is exported.
            opening_prompt: Asked as soon as the screen stands.
            clock: The session's.

        Raises:
            ConfigurationError: If there is no such theme, or it makes no sense.
        """
        tell_alt_enter_apart()
        super().__init__()
        self._look = load_theme(theme)
        self.register_theme(textual_theme(self._look))
        self.theme = self._look.name
        self._chat = ChatScreen(
            session, self._look, clock=clock, export_directory=export_directory, opening_prompt=opening_prompt
        )

    def get_default_screen(self) -> ChatScreen:
        """The chat."""
        return self._chat

    def action_toggle_theme(self) -> None:
        """Take the first theme that is light where this one is dark, or the other way round."""
        themes = [load_theme(name) for name in theme_names()]
        other = next((theme for theme in themes if theme.dark is not self._look.dark), None)
        if other is not None:
            self._look = other
            self.register_theme(textual_theme(other))
            self.theme = other.name
            self._chat.show_theme(other)
