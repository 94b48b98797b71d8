"""The application: themes, the clipboard, suspending, and the screen that comes first."""

import os
import signal
import sys
import time
from pathlib import Path

from specchat.core.errors import ConfigurationError
from specchat.session.chat import ChatSession
from specchat.session.ports import Clock
from specchat.theming import Depth, Theme, depth_of, load_theme, theme_names
from specchat.ui import clipboard
from specchat.ui.screens.chat import ChatScreen
from specchat.ui.textual_patches import (
    CrashKeepingApp,
    draw_only_what_changed,
    survive_bytes_that_are_no_text,
    tell_alt_enter_apart,
    write_to_terminal,
)
from specchat.ui.theme import textual_theme


class ChatApp(CrashKeepingApp):
    """Shows one session until the user leaves.

    `run_async` returns when the user has left; whoever connected the backends closes them.
    """

    TITLE = "specchat"
    ENABLE_COMMAND_PALETTE = False
    # Textual does not load the style sheet of a screen that is the default one.
    CSS_PATH = "screens/chat.tcss"
    # Where there is no colour, a selection shows by what is left; and the caret by reversal wherever colours are few.
    CSS = """
    Screen:nocolor .screen--selection { text-style: reverse; }
    TextArea:ansi .text-area--cursor {
        color: $input-cursor-foreground;
        background: $input-cursor-background;
        text-style: reverse;
    }
    """

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
        draw_only_what_changed()
        # With colours of the terminal's own Textual drops them where NO_COLOR asks for none; others it makes grey.
        super().__init__(ansi_color=True if os.environ.get("NO_COLOR") is not None else None)
        self.depth: Depth = depth_of(self.console.color_system, no_color=self.no_color)
        self._theme_directories = theme_directories
        self._look = load_theme(theme, theme_directories).at(self.depth)
        self._copied = ""
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
        if other is not None:
            self._use(other)

    def use_theme(self, name: str) -> None:
        """Take a theme by its name; the theme key goes back to the one before.

        Raises:
            ConfigurationError: If there is no such theme, or it makes no sense.
        """
        theme = load_theme(name, self._theme_directories).at(self.depth)
        if theme.name != self._look.name:
            self._use(theme)

    def _use(self, theme: Theme) -> None:
        self._look, self._other_look = theme, self._look
        self.register_theme(textual_theme(theme))
        self.theme = theme.name
        self._chat.show_theme(theme)

    def copy(self, text: str) -> str:
        """Put text on the clipboard; returns the sentence that says where it went."""
        environment = dict(os.environ)
        self._copied = text
        copied = clipboard.copy(text, lambda sequence: write_to_terminal(self, sequence), environment)
        if copied.tools and not self.is_headless:

            def hand_over() -> None:
                failure = clipboard.run_tools(copied.tools, text, environment)
                if failure is not None:
                    self.call_from_thread(self.notify, failure, severity="warning", markup=False)

            self.run_worker(hand_over, thread=True, group="clipboard")
        return copied.sentence

    def copy_to_clipboard(self, text: str) -> None:
        """Put text on the clipboard, as Textual's own widgets do."""
        self.copy(text)

    @property
    def clipboard(self) -> str:
        """What was copied last, for pasting inside the app."""
        return self._copied

    def action_suspend_process(self) -> None:
        """Give the terminal back to the shell until it says `fg`."""
        if sys.platform == "win32" or self.is_headless:
            return
        if os.getsid(0) == os.getpgrp():
            self.notify("There is no shell to go back to: nothing could bring the chat back.", severity="warning")
            return
        self.app_suspend_signal.publish(self)
        # The whole job, or whoever started us in the shell's name, such as a script, would wait for us for ever.
        os.kill(0, signal.SIGTSTP)

    def tell_of_error(self, sentence: str) -> None:
        """Say that something of the program's own went wrong, and that it goes on."""
        if self.is_running:
            self.notify(sentence, severity="error", markup=False, timeout=15)

    def _opposite(self) -> Theme | None:
        """The theme called light or dark, else the first of the other kind that can be used."""
        usual = "light" if self._look.dark else "dark"
        for name in sorted(theme_names(self._theme_directories), key=lambda name: name != usual):
            try:
                theme = load_theme(name, self._theme_directories).at(self.depth)
            except ConfigurationError:
                continue
            if theme.dark is not self._look.dark:
                return theme
        return None
