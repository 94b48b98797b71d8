"""The application: themes, the clipboard, suspending, and the screen that comes first."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from specchat.core.errors import SpecchatError
from specchat.theming import Depth, Theme, depth_of, load_theme, opposite_theme
from specchat.ui import clipboard
from specchat.ui.screens.connecting import ConnectingScreen
from specchat.ui.suspending import suspend
from specchat.ui.textual_patches import CrashKeepingApp, patch_textual, write_to_terminal
from specchat.ui.theme import textual_theme

if TYPE_CHECKING:
    # The chat takes longest to import: whoever waits for a server sees a first frame before.
    from collections.abc import Awaitable, Callable

    from specchat.session.chat import ChatSession
    from specchat.session.ports import Clock
    from specchat.ui.choosing import Chooser
    from specchat.ui.screens.chat import ChatScreen


class ChatApp(CrashKeepingApp):
    """Shows one session until the user leaves.

    `run_async` returns when the user has left; whoever connected the backends closes them.

    Attributes:
        session: What is shown; None until there is one.
        chat: Shows it.
        refusal: Why there was none to show.
        look: The theme that is used.
        comparisons_directory: Where the runs of comparisons are kept.
        chooser: Goes to other servers; set by whoever knows any, before the app runs.
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
        session: "ChatSession | Callable[[], Awaitable[ChatSession]] | None",
        *,
        destination: str = "",
        theme: str,
        theme_directories: tuple[Path, ...] = (),
        export_directory: Path,
        comparisons_directory: Path | None = None,
        opening_prompt: str | None = None,
        clock: "Clock" = time.monotonic,
    ) -> None:
        """Make the application.

        Args:
            session: Connected, or what connects one, which may raise SpecchatError; None to let the user choose.
            destination: The server's address, for who waits.
            theme: Name of the theme to start with.
            theme_directories: Folders with the user's theme files, which need not exist.
            export_directory: Where exports go; made when something is exported.
            comparisons_directory: Where the runs of comparisons are kept; None for where exports go.
            opening_prompt: Asked as soon as the screen stands.
            clock: The session's.

        Raises:
            ConfigurationError: If there is no such theme, or it makes no sense.
        """
        patch_textual()
        # With colours of the terminal's own Textual drops them where NO_COLOR asks for none; others it makes grey.
        super().__init__(ansi_color=True if os.environ.get("NO_COLOR") is not None else None)
        self.depth: Depth = depth_of(self.console.color_system, no_color=self.no_color)
        self._theme_directories = theme_directories
        self.look = load_theme(theme, theme_directories).at(self.depth)
        self._copied = ""
        self._other_look: Theme | None = None
        """What the theme key goes to; chosen when it is first pressed."""
        self.register_theme(textual_theme(self.look))
        self.theme = self.look.name
        self.chooser: Chooser | None = None
        self.comparisons_directory = comparisons_directory or export_directory
        self._clock, self._export_directory, self._opening_prompt = clock, export_directory, opening_prompt
        self._connect = session if callable(session) else None
        self.session: ChatSession | None = None if callable(session) else session
        self.refusal: SpecchatError | None = None
        self._waiting = ConnectingScreen(destination)
        self.chat: ChatScreen | None = None if self.session is None else self._make_chat(self.session)

    def get_default_screen(self) -> Screen[None]:
        """The chat, or what is shown until there is a session."""
        return self.chat or self._waiting

    def on_ready(self) -> None:
        """The first frame stands: connect, or let the user choose."""
        if self._connect is not None:
            self.run_worker(self._open_chat(self._connect), group="connecting")
        elif self.session is None and self.chooser is not None:
            self.chooser.open()

    async def _open_chat(self, connect: "Callable[[], Awaitable[ChatSession]]") -> None:
        try:
            session = await connect()
        except SpecchatError as refusal:
            if self.chooser is not None and self.chooser.stays:
                self.chooser.open(str(refusal))
                return
            self.refusal = refusal
            self.exit(return_code=1)
            return
        chat = await self.show_session(session)
        if self._waiting.typed:
            chat.prompt.insert(self._waiting.typed)

    async def show_session(self, session: "ChatSession") -> "ChatScreen":
        """Show another session, in place of everything that is shown."""
        chat = self._make_chat(session)
        while len(self.screen_stack) > 1:  # Textual cannot take away the screen that came first
            await self.pop_screen()
        self.session, self.chat = session, chat
        await self.push_screen(chat)
        return chat

    def _make_chat(self, session: "ChatSession") -> "ChatScreen":
        from specchat.ui.screens.chat import ChatScreen

        prompt, self._opening_prompt = self._opening_prompt, None  # asked once
        return ChatScreen(
            session, self.look, clock=self._clock, export_directory=self._export_directory, opening_prompt=prompt
        )

    def action_toggle_theme(self) -> None:
        """Take the first theme that is light where this one is dark, or the other way round; then go back."""
        other = self._other_look or opposite_theme(self.look, self._theme_directories)
        if other is not None:
            self._use(other.at(self.depth))

    def use_theme(self, name: str) -> None:
        """Take a theme by its name; the theme key goes back to the one before.

        Raises:
            ConfigurationError: If there is no such theme, or it makes no sense.
        """
        theme = load_theme(name, self._theme_directories).at(self.depth)
        if theme.name != self.look.name:
            self._use(theme)

    def _use(self, theme: Theme) -> None:
        self.look, self._other_look = theme, self.look
        self.register_theme(textual_theme(theme))
        self.theme = theme.name
        for screen in self.screen_stack:
            if (show_theme := getattr(screen, "show_theme", None)) is not None:
                show_theme(theme)

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
        suspend(self)

    def tell_of_error(self, sentence: str) -> None:
        """Say that something of the program's own went wrong, and that it goes on."""
        if self.is_running:
            self.notify(sentence, severity="error", markup=False, timeout=15)
