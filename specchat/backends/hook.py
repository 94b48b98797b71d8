"""Asks the specchat hook inside a vLLM server what it can do. Never fails a connect: a server without it is normal.

The traces that it streams are read in `trace_reader`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from specchat.backends.address import Address
from specchat.backends.http_client import CONNECT_SECONDS
from specchat.backends.json_reading import Json, a_dict, a_list, a_text, an_int, parse
from specchat.core.harmless import one_line
from specchat.core.server import Hook

if TYPE_CHECKING:
    import httpx2

PROTOCOL = 1
"""The version of the wire protocol that this program speaks."""
HOOK_ROUTE = "specchat"
"""Below /v1, so that the server's API key guards it."""
NO_HOOK = (
    "this server has no specchat hook: rejected proposals stay unseen, and speculation cannot be switched for one "
    "reply; `specchat doctor` shows the two lines that load it (docs/guide/operators.md)"
)
_ANSWER_SECONDS = 3.0
_SENTENCE = 300
_UNAUTHORIZED = {401, 403}


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What asking for the hook brought."""

    hook: Hook | None
    """The hook; None where there is none, or none that can be used."""
    problem: str = ""
    """Why a hook that is there is not used, a sentence; "" where there is none or all is well."""

    @property
    def traces(self) -> bool:
        """Will it tell each step?"""
        return self.hook is not None and self.hook.trace


async def read_hook(client: "httpx2.AsyncClient", address: Address) -> HookAnswer:
    """Ask for the hook. Never raises for what a server or a network does; takes 3 s at most.

    Args:
        client: Any client of that server; it sends the key.
        address: Where the server is.
    """
    import httpx2

    timeout = httpx2.Timeout(_ANSWER_SECONDS, connect=min(_ANSWER_SECONDS, CONNECT_SECONDS))
    try:
        response = await client.get(f"{address.api_url}/{HOOK_ROUTE}", timeout=timeout)
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return HookAnswer(None)
    if response.status_code in _UNAUTHORIZED:
        return HookAnswer(None, f"whether the server has a hook is not said without its API key ({address})")
    if not response.is_success:
        return HookAnswer(None)
    _, value = parse(response.content.decode("utf-8-sig", "replace"))
    return hook_in(value)


def hook_in(value: Json) -> HookAnswer:
    """Read the hook's answer; a page of any other kind is no hook.

    Args:
        value: The JSON of the answer.
    """
    said = a_dict(value)
    if "protocol" not in said or not ("hook" in said or "trace" in said):
        return HookAnswer(None)
    protocol = an_int(said["protocol"])
    if protocol != PROTOCOL:
        word = one_line(str(said["protocol"]), 20)
        return HookAnswer(
            None,
            f"the server's hook speaks protocol {word} and this specchat {PROTOCOL}, so it is not used: "
            "bring both to the same version",
        )
    off = a_dict(said.get("off"))
    method = a_text(said.get("method"))
    return HookAnswer(
        Hook(
            trace=said.get("trace") is True,
            switch=said.get("switch") is True,
            version=_word(said.get("hook")) or "",
            runner=_word(said.get("runner")),
            draft_length=_draft_length(said),
            off_draft_forwards=_count(off.get("draft_forwards")),
            off_why=one_line(a_text(off.get("why")) or "", _SENTENCE),
            problems=tuple(
                one_line(text, _SENTENCE) for each in a_list(said.get("problems")) if (text := a_text(each))
            ),
            method=None if method is None else one_line(method, 60),
            async_scheduling=flag if isinstance(flag := said.get("async_scheduling"), bool) else None,
            tensor_parallel=_count(said.get("tensor_parallel")),
        )
    )


def _draft_length(said: dict[str, object]) -> int | None:
    """k; a server that says neither k nor a method does not speculate."""
    if said.get("k", "") is None and said.get("method", "") is None:
        return 0
    return _count(said.get("k"))


def _count(value: object) -> int | None:
    number = an_int(value)
    return number if number is not None and number >= 0 else None


def _word(value: object) -> str | None:
    text = a_text(value)
    return None if text is None else one_line(text, 60)
