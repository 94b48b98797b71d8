"""The launch of a chat's own server anew: shown like any start, and at its end the same chat goes on."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from specchat.core.errors import SpecchatError
from specchat.session.local_servers import Finding, LaunchedServer, LaunchFailed, ProfileLine
from specchat.theming import Theme
from specchat.ui.choosing import Surroundings
from specchat.ui.panels.launch_page import Stage
from specchat.ui.screens.launch import LaunchScreen

if TYPE_CHECKING:
    from textual.worker import Worker

_AFTER_FAILURE = "Enter starts it as it was before. Esc goes back to the chat, whose conversation stays."


class RelaunchScreen(LaunchScreen):
    """Begins at once. Where it fails, the server can be started as it was before.

    Attributes:
        has_renewed: Does the chat go on with the server?
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "as_before", "Start it as before", key_display="Enter"),
        Binding("enter", "connect", "Go on", key_display="Enter"),
        # There is a conversation that no single key may lose.
        Binding("ctrl+c", "back", show=False, priority=True),
    ]

    def __init__(
        self,
        around: Surroundings,
        server: LaunchedServer,
        tokens: int | None,
        *,
        look: Theme,
        renew: Callable[[], Awaitable[None]],
        what: str,
    ) -> None:
        """Prepare.

        Args:
            around: Where servers come from.
            server: What is launched anew.
            tokens: Proposals for each step; 0 for none, None for as it was first launched.
            look: The theme.
            renew: Lets the chat go on with the server once it answers; may raise SpecchatError.
            what: How it is launched, in a few words.
        """
        # One that dies with the program is given up like the demo's.
        super().__init__(around, ProfileLine(server.profile, server.profile, "", is_demo=server.owned), look=look)
        self._server, self._tokens, self._renew, self._what = server, tokens, renew, what
        self.has_renewed = False

    @property
    def answers(self) -> bool:
        """Is there a server again?"""
        return self._page.stage is Stage.THERE

    def open(self) -> None:
        """Begin at once: it was asked for."""
        self._launch(self._tokens)
        self.say(f"It is launched anew, {self._what}. The chat goes on when it answers.")

    def _launch(self, tokens: int | None) -> None:
        self._begin(self._around.local.relaunch(self._server.id, tokens))

    def action_as_before(self) -> None:
        """After a failure, start the server with the speculation that it had."""
        if self._page.stage is Stage.FAILED:
            self._launch(self._server.tokens)
            self.say("It is launched as it was before. The chat goes on when it answers.")

    def show_stopped(self) -> None:
        """The start was stopped, and so there is no server."""
        self._fail(LaunchFailed(Finding("info", "The start was stopped, so the server is not running.")))

    def _fail(self, failed: LaunchFailed) -> None:
        self._page.said = _AFTER_FAILURE, ""
        super()._fail(failed)

    def _connect(self, url: str) -> None:  # noqa: ARG002 - the chat knows where its server is
        _: Worker[None] = self.run_worker(self._go_on, group="renewing", exclusive=True)

    async def _go_on(self) -> None:
        try:
            await self._renew()
        except SpecchatError as error:
            self.say(str(error), "bad")
            return
        self.has_renewed = True
        if self.is_active:
            self.dismiss()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that mean nothing now are not shown."""
        if action == "as_before":
            return self._page.stage is Stage.FAILED
        # Left to itself the server would change under the chat.
        if action in {"let_go", "again", "start"}:
            return False
        return super().check_action(action, parameters)
