"""Connects the servers of a comparison and says who answers on which side. Owns connections, and no decision."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from specchat.core.errors import ConfigurationError, ModelChoiceNeeded
from specchat.core.harmless import one_line
from specchat.core.server import ServerInfo
from specchat.core.switching import Speculation, Way
from specchat.session.measuring import Party
from specchat.session.switching import Switchboard
from specchat.wiring import Connection, make_backend

if TYPE_CHECKING:
    from specchat.session.ports import ChatBackend


_FACTS = {"version": "version", "draft_length": "k", "max_model_len": "maximum length"}


@dataclass(frozen=True, slots=True)
class Opponents:
    """The two sides, connected."""

    parties: Mapping[Side, Party]
    way: Way
    """How speculation is off."""

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
        return SETTLE_SECONDS if share_a_machine(self.servers[Side.ON], self.servers[Side.OFF]) else 0.0

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
        return {str(side): {name: getattr(server, name) for name in _FACTS} for side, server in self.servers.items()}


def refuse_changed(then: Mapping[str, object], now: Mapping[str, Mapping[str, object]]) -> None:
    """Refuse to go on with a comparison whose servers are others than they were.

    Args:
        then: What `Opponents.facts` said when it began.
        now: What it says now.

    Raises:
        ConfigurationError: If something that was known then and is known now is not the same.
    """
    for side, facts in now.items():
        before = then.get(side)
        for name, value in facts.items() if isinstance(before, Mapping) else ():
            was = before.get(name) if isinstance(before, Mapping) else None
            if was is not None and value is not None and was != value:
                raise ConfigurationError(
                    f"The {side} side is another server than when this comparison began: its {_FACTS[name]} was"
                    f" {one_line(str(was), 60)} and is {one_line(str(value), 60)}.",
                    "Start the server as it was, or give --fresh to begin anew (the file is kept).",
                )


@asynccontextmanager
async def opponents(
    connection: Connection, *, baseline_model: str | None, allow_speculating: bool
) -> AsyncIterator[Opponents]:
    """Both sides: two servers where there is a baseline, else one whose hook switches.

    Args:
        connection: Where to connect and how.
        baseline_model: The baseline's model, which is then the same whatever its name; None for its only one, or the
            one of the same name.
        allow_speculating: May the baseline speculate too?

    Raises:
        SpecchatError: If a server cannot be talked to, or the two cannot be compared.
    """
    settings = connection.settings
    async with AsyncExitStack() as stack:

        async def connected(url: str, model: str | None) -> "tuple[ChatBackend, ServerInfo]":
            backend = make_backend(connection, url, model)
            stack.push_async_callback(backend.close)
            return backend, await backend.connect()

        backend, server = await connected(settings.url or "", settings.model)
        if settings.baseline_url is None:
            speculation = Switchboard(has_second=False).choose(0, server)
            off = Party(backend, server, speculation)
            yield Opponents({Side.ON: Party(backend, server), Side.OFF: off}, Way.HOOK)
            return
        try:
            second, baseline = await connected(settings.baseline_url, baseline_model)
        except ModelChoiceNeeded:
            if server.model is None:
                raise
            second, baseline = await connected(settings.baseline_url, server.model)
        named = baseline_model is not None
        refuse_pair(server, baseline, model_was_named=named, allow_speculating=allow_speculating)
        off_speculation = Speculation() if baseline.speculates else Speculation(0, Way.SERVER)
        off = Party(second, baseline, off_speculation)
        yield Opponents({Side.ON: Party(backend, server), Side.OFF: off}, Way.SERVER)
