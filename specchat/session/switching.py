"""Which ways there are to switch speculation for a prompt, and which one is taken."""

from specchat.core.errors import CannotSwitch
from specchat.core.server import ServerInfo
from specchat.core.switching import Speculation, Way

SECOND_SERVER = "start specchat with --baseline-url and the address of a server without a draft"
LOAD_HOOK = "load specchat's hook into the server (docs/guide/operators.md)"


class Switchboard:
    """Speculation as the next prompt will have it.

    Attributes:
        chosen: What the next prompt is sent with.
    """

    def __init__(self, *, has_second: bool) -> None:
        """Begin with what the server does by itself.

        Args:
            has_second: Is there a second server, one without a draft?
        """
        self._has_second = has_second
        self.chosen = Speculation()

    def ways(self, server: ServerInfo) -> tuple[Way, ...]:
        """The ways that there are, the one that is taken first; () where speculation cannot be switched.

        Args:
            server: The speculating one.
        """
        hook = server.hook is not None and server.hook.switch and server.speculates is not False
        return (Way.HOOK,) * hook + (Way.SERVER,) * self._has_second

    def choose(self, limit: int | None, server: ServerInfo, way: Way | None = None) -> Speculation:
        """Choose for the next prompts.

        Args:
            limit: At most so many proposals a step: 0 is off, None is what the server does by itself.
            server: The speculating one.
            way: Insist on this way; None takes the first that can.

        Raises:
            CannotSwitch: If there is no way, with a sentence that names what is possible.
        """
        if limit is not None and limit < 0:
            raise CannotSwitch(f"A step cannot hold {limit} proposals.", "Give 0 for off, or a number from 1 on.")
        k = server.draft_length
        if limit is None or (k and limit >= k):
            self.chosen = Speculation()
            return self.chosen
        ways = [one for one in self.ways(server) if one is Way.HOOK or limit == 0]
        if not ways or (way is not None and way not in ways):
            raise _refusal(limit, server, way, has_second=self._has_second)
        self.chosen = Speculation(limit, way or ways[0])
        return self.chosen


def _refusal(limit: int, server: ServerInfo, way: Way | None, *, has_second: bool) -> CannotSwitch:
    hook = server.hook
    if way is Way.SERVER and limit and has_second:
        return CannotSwitch("The second server has no draft, so speculation can only be off there.")
    if way is Way.SERVER:
        return CannotSwitch("There is no second server to ask.", f"{SECOND_SERVER.capitalize()}.")
    if server.speculates is False and not has_second:
        return CannotSwitch("This server does not speculate, so there is nothing to switch.")
    if hook is not None and not hook.switch:
        why = hook.problems[0].rstrip(".") if hook.problems else "it gives no reason"
        text = f"The hook in this server cannot switch speculation: {why}."
    elif has_second:
        text = "This server has no specchat hook, so speculation can only be off, on the second server."
    else:
        text = "Speculation cannot be switched here: the server has no specchat hook, and there is no second server."
    if limit:
        return CannotSwitch(text, f"At most {limit} proposals a step needs the hook: {LOAD_HOOK}.")
    return CannotSwitch(text, f"{SECOND_SERVER.capitalize()}, or {LOAD_HOOK}.")
