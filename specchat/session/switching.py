"""Which ways there are to switch speculation for a prompt, and which one is taken."""

from specchat.core.errors import CannotSwitch, RelaunchNeeded
from specchat.core.server import ServerInfo
from specchat.core.switching import BY_ITSELF, Speculation, Way

SECOND_SERVER = "start specchat with --baseline-url and the address of a server without a draft"
LOAD_HOOK = "load specchat's hook into the server (docs/guide/operators.md)"


class Switchboard:
    """Speculation as the next prompt will have it.

    Attributes:
        chosen: What the next prompt is sent with.
        standing: What the server does by itself: with a limit where it was launched anew with one.
        can_relaunch: Can the server be launched anew?
    """

    def __init__(self, *, has_second: bool, can_relaunch: bool = False, standing: Speculation = BY_ITSELF) -> None:
        """Begin with what the server does by itself.

        Args:
            has_second: Is there a second server, one without a draft?
            can_relaunch: Can the server be launched anew with other speculation?
            standing: What the server does by itself.
        """
        self._has_second = has_second
        self.can_relaunch = can_relaunch
        self.standing = self.chosen = standing

    def stand(self, standing: Speculation, *, can_relaunch: bool) -> None:
        """The server was launched anew: from now on it does something else by itself, and that is what is asked for."""
        self.standing = self.chosen = standing
        self.can_relaunch = can_relaunch

    @property
    def toggled(self) -> int | None:
        """The limit that a key which only turns on and off chooses: off where the server does as it does by itself."""
        return 0 if self.chosen == self.standing and not self.standing.is_off else None

    def ways(self, server: ServerInfo) -> tuple[Way, ...]:
        """The ways that there are, the one that is taken first; () where speculation cannot be switched.

        Args:
            server: The speculating one.
        """
        hook = server.hook is not None and server.hook.switch and server.speculates is not False
        second = self._has_second and not self.standing.is_off
        return (Way.HOOK,) * hook + (Way.SERVER,) * second + (Way.RELAUNCH,) * self.can_relaunch

    def choose(self, limit: int | None, server: ServerInfo, way: Way | None = None) -> Speculation:
        """Choose for the next prompts.

        Args:
            limit: At most so many proposals a step: 0 is off, None is what the server does by itself.
            server: The speculating one.
            way: Insist on this way; None takes the first that can.

        Raises:
            RelaunchNeeded: If the server has to be launched anew for it, or that way was insisted on.
            CannotSwitch: If there is no way, with a sentence that names what is possible.
        """
        if limit is not None and limit < 0:
            raise CannotSwitch(f"A step cannot hold {limit} proposals.", "Give 0 for off, or a number from 1 on.")
        if way is Way.RELAUNCH and not self.can_relaunch:
            raise CannotSwitch(
                "specchat cannot launch this server anew.", "That takes one that it launched on this machine itself."
            )
        if way is Way.RELAUNCH:
            raise RelaunchNeeded(limit)
        if self._is_standing(limit, server.draft_length):
            self.chosen = self.standing
            return self.chosen
        own = self.standing.limit
        ways = [one for one in self.ways(server) if one is not Way.SERVER or limit == 0]
        if limit is None or (own is not None and limit > own):
            # Only another launch brings back what the server was launched without.
            ways = [one for one in ways if one is Way.RELAUNCH]
        if way is None and ways == [Way.RELAUNCH]:
            raise RelaunchNeeded(limit)
        if not ways or (way is not None and way not in ways):
            raise _refusal(limit, server, way, has_second=self._has_second)
        self.chosen = Speculation(limit, way or ways[0])
        return self.chosen

    def _is_standing(self, limit: int | None, k: int | None) -> bool:
        """Is this what the server does by itself?"""
        own = self.standing.limit
        if own is None:
            return limit is None or bool(k and limit >= k)
        # On is whatever speculation it has: for more than a launch left it, it has to be launched again.
        return limit == own or (limit is None and own > 0)


def _refusal(limit: int | None, server: ServerInfo, way: Way | None, *, has_second: bool) -> CannotSwitch:
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
