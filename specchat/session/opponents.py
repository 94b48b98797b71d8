"""Who answers on each side of a comparison, and what makes these two these two. Connects nobody."""

from collections.abc import Mapping
from dataclasses import dataclass

from specchat.core.comparison.plan import Plan
from specchat.core.comparison.samples import Side
from specchat.core.comparison.servers import (
    SETTLE_SECONDS,
    notes_of_pair,
    notes_of_switch,
    refuse_pair,
    share_a_machine,
)
from specchat.core.comparison.verdict import names_of
from specchat.core.server import ServerInfo
from specchat.core.switching import Speculation, Way
from specchat.session.chat import ChatSession
from specchat.session.measuring import Party
from specchat.session.switching import Switchboard

FACTS = {"version": "version", "draft_length": "k", "max_model_len": "maximum length"}
"""What else of a server must stay the same in a comparison, by its attribute, in words."""


@dataclass(frozen=True, slots=True)
class Opponents:
    """The two sides of a comparison, connected."""

    parties: Mapping[Side, Party]
    way: Way
    """How speculation is off: another server, or the hook in the same one."""

    @property
    def servers(self) -> dict[Side, ServerInfo]:
        """Who answers on each side."""
        return {side: party.server for side, party in self.parties.items()}

    @property
    def names(self) -> dict[Side, str]:
        """What to call them."""
        off = self.servers[Side.OFF].draft_length if self.way is Way.SERVER else 0
        return names_of(self.servers[Side.ON].draft_length, off)

    @property
    def settle_s(self) -> float:
        """Seconds of rest that the one server needs from the other."""
        return SETTLE_SECONDS if self.share_a_machine else 0.0

    @property
    def can_run_together(self) -> bool:
        """Are there two servers, so that both sides can be asked at once?"""
        return self.way is Way.SERVER

    @property
    def share_a_machine(self) -> bool:
        """Are there two servers on one machine, where each slows the other?"""
        return share_a_machine(self.servers[Side.ON], self.servers[Side.OFF])

    def notes(self, plan: Plan, off_meant: str) -> list[str]:
        """What a reader should know of them.

        Args:
            plan: What is done.
            off_meant: What a trace showed of the hook's switch; "" without one.
        """
        servers = self.servers
        if self.way is Way.HOOK:
            return notes_of_switch(servers[Side.ON], plan, off_meant)
        return notes_of_pair(servers[Side.ON], servers[Side.OFF], plan)

    def identity(self) -> dict[str, object]:
        """What makes these two these two, for a plan's fingerprint: what a server says of itself may come later."""
        return {
            "way": str(self.way),
            **{str(side): {"url": server.url, "model": server.model} for side, server in self.servers.items()},
        }

    def facts(self) -> dict[str, dict[str, object]]:
        """What else of a server must be the same for its replies to be compared; None is unknown."""
        return {str(side): {name: getattr(server, name) for name in FACTS} for side, server in self.servers.items()}


def opponents_of(session: ChatSession) -> Opponents:
    """Who can race: the session's server against its second one, else against itself with the hook's switch.

    Raises:
        SpecchatError: If there is no way to switch speculation off, or the two cannot be compared.
    """
    backend, server = session.servers[True]
    if False in session.servers:
        second, baseline = session.servers[False]
        refuse_pair(server, baseline, model_was_named=False, allow_speculating=False)
        off = Party(second, baseline, Speculation(0, Way.SERVER))
        return Opponents({Side.ON: Party(backend, server), Side.OFF: off}, Way.SERVER)
    speculation = Switchboard(has_second=False).choose(0, server)
    return Opponents({Side.ON: Party(backend, server), Side.OFF: Party(backend, server, speculation)}, Way.HOOK)
