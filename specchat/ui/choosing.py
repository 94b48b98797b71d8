"""Which server is chatted with: asks before a conversation is left, connects, and opens the chat. Draws nothing."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from specchat.core.errors import ModelChoiceNeeded, SpecchatError
from specchat.session.local_servers import GpuWatch, LocalServers
from specchat.ui.panels.server_rows import SavedServer, host_of

if TYPE_CHECKING:
    from textual.worker import Worker

    from specchat.session.chat import ChatSession
    from specchat.ui.app import ChatApp

Tell = Callable[[str, str], None]
"""Shows a sentence; the second is its look: "dim" or "bad"."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What there is besides the session that is shown."""

    local: LocalServers
    gpus: GpuWatch
    connect: Callable[[str, str | None, bool], Awaitable["ChatSession"]]
    """Opens a session beside the one that there is: address, model or None for the only one, and whether it is the
    demo, which has its own settings. Raises SpecchatError."""
    keep_only: Callable[["ChatSession"], Awaitable[None]]
    """Closes every other session."""
    renew: Callable[["ChatSession"], Awaitable[None]]
    """Lets a session go on with its server, which was launched anew. Raises SpecchatError."""
    saved: SavedServer | None = None
    """The server that was talked to last."""
    demo_prompt: str = ""
    """What stands in the prompt of the demo's first chat, to be sent with Enter."""


class Chooser:
    """Takes the app from one server to another.

    Attributes:
        around: What can be chosen.
        stays: If the first server cannot be talked to, are the others shown? Else the app ends with the reason.
    """

    def __init__(self, app: "ChatApp", around: Surroundings, *, stays: bool = False) -> None:
        """Choose for an app.

        Args:
            app: Shows the screens.
            around: What can be chosen.
            stays: If the first server cannot be talked to, show the others?
        """
        self._app = app
        self.around = around
        self.stays = stays

    def open(self, why: str = "") -> None:
        """Show the servers.

        Args:
            why: A sentence that says why they are shown unasked; "" for who asked.
        """
        from specchat.ui.screens.servers import ServersScreen

        if not any(isinstance(screen, ServersScreen) for screen in self._app.screen_stack):
            self._app.push_screen(ServersScreen(self.around, why, look=self._app.look))

    def choose(self, url: str, model: str | None, tell: Tell, *, demo: bool = False) -> None:
        """Chat with a server in a new conversation.

        Args:
            url: Its address.
            model: None for the only one.
            tell: Says what goes on, and why it cannot be.
            demo: Is it the demo?
        """
        work = partial(self._choose, url, model, tell, demo=demo)
        _: Worker[None] = self._app.run_worker(work, exclusive=True, group="choosing")

    async def _choose(self, url: str, model: str | None, tell: Tell, *, demo: bool) -> None:
        if not await self._may_leave():
            return
        tell(f"Connecting to {host_of(url)} …", "dim")
        try:
            session = await self._connect(url, model, demo=demo)
        except SpecchatError as error:
            tell(str(error), "bad")
            return
        if session is None:
            tell("", "dim")
            return
        await self._app.show_session(session)
        await self.around.keep_only(session)
        if demo and self._app.chat is not None and self.around.demo_prompt:
            self._app.chat.prompt.insert(self.around.demo_prompt)

    async def _connect(self, url: str, model: str | None, *, demo: bool) -> "ChatSession | None":
        """A session; None where the user takes none of several models.

        Raises:
            SpecchatError: If the server cannot be talked to.
        """
        try:
            return await self.around.connect(url, model, demo)
        except ModelChoiceNeeded as several:
            from specchat.ui.screens.asks import PickScreen

            names = PickScreen(several.models, title=f"Models of {host_of(url)}")
            picked = await self._app.push_screen_wait(names)
            return None if picked is None else await self.around.connect(url, picked, demo)

    async def _may_leave(self) -> bool:
        """Is there nothing to lose, or does the user agree?"""
        chat = self._app.chat
        if chat is None or not (chat.asker.running or chat.session.conversation.turns):
            return True
        from specchat.ui.screens.asks import AskScreen

        what = "A reply is running; it would be stopped. " if chat.asker.running else ""
        question = f"{what}Another server means a new conversation: this one is closed. Ctrl+S in the chat exports it."
        return await self._app.push_screen_wait(AskScreen(question, title="Leave this conversation?", verb="leave it"))
