"""Finds out what a server is: its models, version and counters, and what of this cannot be known and why."""

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specchat.backends.address import Address
from specchat.backends.hook import NO_HOOK, HookAnswer, read_hook
from specchat.backends.http_client import CONNECT_SECONDS
from specchat.backends.http_errors import Asked, error_of_answer
from specchat.backends.json_reading import a_dict, a_text, an_int, first_text, parse
from specchat.backends.metrics import is_vllm_page, parse_counters
from specchat.backends.transport_errors import unreachable
from specchat.core.counters import CounterReading
from specchat.core.errors import ModelChoiceNeeded, ModelNotServed, ServerRefused
from specchat.core.harmless import one_line
from specchat.core.server import ServedModel, ServerInfo

if TYPE_CHECKING:
    import httpx2

REPORT_SINCE = (0, 29)
"""The first vLLM with --per-request-spec-decode-metrics."""
IDS_SINCE = (0, 10, 2)
"""The first vLLM with return_token_ids."""
ASSUMED_MODEL = "default"
"""What to ask for where nothing tells: a server that lists no models mostly has one and takes any name."""
REPORT_FLAG = "--per-request-spec-decode-metrics detailed"

_ANSWER_SECONDS = 10.0
_UNLISTED = f"this server lists no models, so it is asked for “{ASSUMED_MODEL}”; name another with --model"
_NO_ROUTE = {404, 405, 501}
_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Discovery:
    """A server, and what reading its counters later needs."""

    server: ServerInfo
    metric_names: tuple[str | None, ...]
    """Names under which the model may appear on the metrics page: its own, then those of the same weights. None is
    the page's only one."""
    has_metrics: bool
    """False where the route is missing or forbidden, so that nobody needs to ask again."""


@dataclass(frozen=True, slots=True)
class _Model:
    name: str
    max_model_len: int | None
    owner: str
    weights: str
    """What an alias or an adapter shares with its base model; "" where the server does not say."""


@dataclass(frozen=True, slots=True)
class _Page:
    text: str | None
    """None where it could not be read."""
    reason: str = ""
    final: bool = False
    """Will it be the same the next time?"""


async def discover(client: "httpx2.AsyncClient", address: Address, model: str | None, asked: Asked) -> Discovery:
    """Ask for the models, then for version, metrics and the hook, and choose the model.

    Args:
        client: Any client of that server.
        address: Where it is.
        model: The model to talk to; None takes the only one.
        asked: For the words of errors.

    Raises:
        ServerUnreachable: If nothing answers.
        ServerRefused: If the list of models is refused, or the address is no API.
        ModelChoiceNeeded: If there are several models and none was named.
    """
    # The list of models decides whether there is anything to talk to, so the rest waits for it.
    listed = await _get_models(client, address, asked, model_is_known=model is not None)
    models = listed or ()
    version_page, metrics, hook = await asyncio.gather(
        _get_quietly(client, f"{address.root_url}/version"),
        _get_quietly(client, f"{address.root_url}/metrics"),
        read_hook(client, address),
    )
    name = model or (ASSUMED_MODEL if listed is None else _only_model(models, address))
    names = _metric_names(name, models) if model is not None or listed is not None else (None,)
    counters = counters_for(metrics.text, names)
    is_vllm = any(entry.owner == "vllm" for entry in models) or is_vllm_page(metrics.text or "")
    version = _version_in(version_page.text) if is_vllm or not models else None
    draft_length = _draft_length(counters, hook, is_vllm=is_vllm)
    server = ServerInfo(
        url=str(address),
        version=version,
        models=tuple(ServedModel(entry.name, entry.max_model_len) for entry in models),
        model=name,
        counters=counters,
        draft_length=draft_length,
        hook=hook.hook,
        gaps=(_UNLISTED,) * (listed is None and model is None)
        + _gaps(address, name, metrics, counters, version, lacks_steps=draft_length != 0 and not hook.traces)
        + _hook_gaps(hook, could_have_one=is_vllm and draft_length != 0),
    )
    return Discovery(server, names, has_metrics=not metrics.final)


def counters_for(page: str | None, names: tuple[str | None, ...]) -> CounterReading | None:
    """The counters under the first of these names that the page has."""
    if page is None:
        return None
    return next((reading for name in names if (reading := parse_counters(page, name)) is not None), None)


def version_numbers(version: str | None) -> tuple[int, ...] | None:
    """`0.27.1+cpu` as (0, 27, 1); None for what is no version, such as `dev`."""
    found = _VERSION.match(version or "")
    return None if found is None else tuple(int(part) for part in found.groups(default="0"))


async def _get_models(
    client: "httpx2.AsyncClient", address: Address, asked: Asked, *, model_is_known: bool
) -> tuple[_Model, ...] | None:
    """The models; None where the server has no list of them, and replies all the same."""
    import httpx2

    timeout = httpx2.Timeout(_ANSWER_SECONDS, connect=CONNECT_SECONDS)
    try:
        response = await client.get(f"{address.api_url}/models", timeout=timeout)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError) and await _chats(client, address, asked):
            return None
        raise unreachable(error, address, secrets=(asked.key,)) from None
    if response.status_code in _NO_ROUTE and (model_is_known or await _chats(client, address, asked)):
        return None
    if not response.is_success:
        raise error_of_answer(response.status_code, response.headers, response.content, asked)
    is_json, value = parse(response.content.decode("utf-8-sig", "replace"))
    holder = a_dict(value)
    entries = holder.get("data", holder.get("models")) if isinstance(value, dict) else value
    if not is_json or holder.get("error") or not isinstance(entries, list | None):
        raise error_of_answer(response.status_code, response.headers, response.content, asked)
    return tuple(found for entry in entries or [] if (found := _read_model(entry)) is not None)


async def _chats(client: "httpx2.AsyncClient", address: Address, asked: Asked) -> bool:
    """Is there a route for chats? An empty request shows it: a server refuses it otherwise than a missing route."""
    import httpx2

    timeout = httpx2.Timeout(_ANSWER_SECONDS, connect=CONNECT_SECONDS)
    try:
        async with client.stream("POST", f"{address.api_url}/chat/completions", json={}, timeout=timeout) as response:
            if response.status_code not in _NO_ROUTE:
                return True
            body = await response.aread()
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return False
    return isinstance(error_of_answer(response.status_code, response.headers, body, asked), ModelNotServed)


def _read_model(entry: object) -> _Model | None:
    holder = a_dict(entry)
    name = first_text(holder, ("id", "name", "model"))
    if name is None:
        return None
    length = next((n for key in ("max_model_len", "context_length") if (n := an_int(holder.get(key)))), None)
    if length is None:
        # llama.cpp tells its context in `meta`.
        length = an_int(a_dict(holder.get("meta")).get("n_ctx"))
    weights = a_text(holder.get("parent")) or a_text(holder.get("root")) or ""
    return _Model(name, length, a_text(holder.get("owned_by")) or "", weights)


def _only_model(models: tuple[_Model, ...], address: Address) -> str:
    names = tuple(dict.fromkeys(entry.name for entry in models))
    if not names:
        raise ServerRefused(f"The server at {address} lists no model.", "Name one with --model.")
    if len(names) > 1:
        listed = one_line(", ".join(names), 300)
        text = f"The server at {address} serves {len(names)} models: {listed}."
        raise ModelChoiceNeeded(text, "Choose one with --model.", models=names)
    return names[0]


def _metric_names(model: str, models: tuple[_Model, ...]) -> tuple[str, ...]:
    """Aliases and adapters are counted under the first name of the weights that they share."""
    weights = next((entry.weights for entry in models if entry.name == model), "")
    shared = [entry.name for entry in models if weights and weights in {entry.weights, entry.name}]
    return tuple(dict.fromkeys([model, *shared]))


async def _get_quietly(client: "httpx2.AsyncClient", url: str) -> _Page:
    """A page that is good to have; a failure is a reason and no error."""
    import httpx2

    try:
        response = await client.get(url, timeout=httpx2.Timeout(_ANSWER_SECONDS / 2, connect=CONNECT_SECONDS))
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return _Page(None, one_line(str(error) or type(error).__name__, 120))
    if not response.is_success:
        final = response.status_code < 500 or response.status_code in _NO_ROUTE
        return _Page(None, f"it answers {response.status_code}", final)
    return _Page(response.content.decode("utf-8", "replace"))


def _version_in(page: str | None) -> str | None:
    _, value = parse(page or "")
    said = a_text(a_dict(value).get("version"))
    return None if said is None else one_line(said, 60)


def _draft_length(counters: CounterReading | None, answer: HookAnswer, *, is_vllm: bool) -> int | None:
    """k, from the number of positions that are counted; vLLM counts none exactly where it does not speculate."""
    if counters is not None and counters.per_position:
        return len(counters.per_position)
    if answer.hook is not None and answer.hook.draft_length is not None:
        return answer.hook.draft_length
    if counters is None:
        return None
    return 0 if is_vllm and not counters.speculates else None


def _gaps(
    address: Address,
    model: str,
    metrics: _Page,
    counters: CounterReading | None,
    version: str | None,
    *,
    lacks_steps: bool,
) -> tuple[str, ...]:
    """What cannot be known here and why.

    Args:
        address: The server's.
        model: Its name.
        metrics: Its page of counters.
        counters: What was found there.
        version: vLLM's.
        lacks_steps: Does it speculate, without a hook that traces the steps?
    """
    gaps = []
    if metrics.text is None:
        flag = "; llama.cpp has it with --metrics" if metrics.reason.endswith("501") else ""
        gaps.append(f"the server's counters cannot be read at {address}/metrics: {metrics.reason}{flag}")
    elif counters is None:
        gaps.append(f"the page at {address}/metrics has no counters of {one_line(model, 80)}: replies go unchecked")
    numbers = version_numbers(version)
    if numbers is not None and numbers < IDS_SINCE:
        gaps.append(f"this vLLM ({version}) sends no token ids: origins cannot be known; vLLM 0.10.2 or later does")
    elif numbers is not None and numbers < REPORT_SINCE and lacks_steps:
        gaps.append(
            f"this vLLM ({version}) sends no per-step report: origins stay inferred from chunks; "
            f"vLLM 0.29 or later with {REPORT_FLAG} reports them"
        )
    return tuple(gaps)


def _hook_gaps(answer: HookAnswer, *, could_have_one: bool) -> tuple[str, ...]:
    """What is to be said about the hook: why it cannot be used, what of it does not work, or how to get it."""
    if answer.problem:
        return (answer.problem,)
    if answer.hook is not None:
        missing = not (answer.hook.trace and answer.hook.switch)
        return tuple(f"the server's hook: {problem}" for problem in answer.hook.problems) if missing else ()
    return (NO_HOOK,) if could_have_one else ()
