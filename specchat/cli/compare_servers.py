"""Connects the servers of a comparison and says who answers on which side. Owns connections, and no decision."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from specchat.core.comparison.samples import Side
from specchat.core.comparison.servers import refuse_pair
from specchat.core.errors import ConfigurationError, ModelChoiceNeeded
from specchat.core.harmless import one_line
from specchat.core.switching import Speculation, Way
from specchat.session.measuring import Party
from specchat.session.opponents import FACTS, Opponents
from specchat.session.switching import Switchboard
from specchat.wiring import Connection, make_backend

if TYPE_CHECKING:
    from specchat.core.server import ServerInfo
    from specchat.session.ports import ChatBackend


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
                    f"The {side} side is another server than when this comparison began: its {FACTS[name]} was"
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
