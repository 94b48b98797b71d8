"""Asks a server what `specchat doctor` wants to know. Owns the requests; what they mean is decided elsewhere."""

from typing import TYPE_CHECKING

from specchat.backends.address import Address
from specchat.backends.discovery import discover, version_numbers
from specchat.backends.hook import HOOK_ROUTE, HookAnswer, hook_in
from specchat.backends.http_client import CONNECT_SECONDS, make_client
from specchat.backends.http_errors import Asked, error_of_answer
from specchat.backends.json_reading import a_dict, ints, parse
from specchat.backends.redaction import redact
from specchat.cli.doctor_report import Findings, HookSeen, ReportAnswer, draft_length
from specchat.config.keys import choose_key
from specchat.core.errors import ModelChoiceNeeded
from specchat.core.harmless import one_line
from specchat.wiring import Connection

if TYPE_CHECKING:
    import httpx2

_HOOK_SECONDS = 5.0
_REPLY_SECONDS = 60.0
_REPLY_TOKENS = 16
_PROMPT = "Count from one to ten."


async def examine(connection: Connection) -> Findings:
    """Ask for models, version, counters, the hook, and for one reply of at most 16 tokens.

    Raises:
        SpecchatError: If the server cannot be talked to.
    """
    settings = connection.settings
    address = Address.parse(settings.url or "")
    choice = choose_key(settings, address.host, openai_key_confirmed=connection.openai_key_confirmed)
    asked = Asked(str(address), settings.model, (), choice.key, choice.unsent_openai_key)

    def new_client() -> "httpx2.AsyncClient":
        # One for each question: a server that closes a connection behind an answer must not spoil the next one.
        return make_client(address, key=choice.key, ca_file=settings.ca_file, insecure=settings.insecure)

    unchosen = False
    try:
        async with new_client() as client:
            server = (await discover(client, address, settings.model, asked)).server
    except ModelChoiceNeeded as needed:
        unchosen = True
        async with new_client() as client:
            server = (await discover(client, address, needed.models[0], asked)).server
    async with new_client() as client:
        hook = await _ask_hook(client, address, asked)
    report = None
    if draft_length(server, hook.hook) != 0:
        async with new_client() as client:
            report = await _ask_reply(client, address, server.model or "", asked)
    return Findings(server, version_numbers(server.version), unchosen, address.is_loopback, hook, report)


async def _ask_hook(client: "httpx2.AsyncClient", address: Address, asked: Asked) -> HookSeen:
    import httpx2

    try:
        response = await client.get(
            f"{address.api_url}/{HOOK_ROUTE}", timeout=httpx2.Timeout(_HOOK_SECONDS, connect=CONNECT_SECONDS)
        )
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return HookSeen(None, _reason(error, asked))
    # A page for people, as some servers give for every address, is no answer of the hook.
    _, value = parse(response.content.decode("utf-8-sig", "replace"))
    read = hook_in(value) if response.is_success else HookAnswer(None)
    return HookSeen(response.status_code, hook=read.hook, problem=read.problem)


async def _ask_reply(client: "httpx2.AsyncClient", address: Address, model: str, asked: Asked) -> ReportAnswer:
    import httpx2

    body = {
        "model": model,
        "messages": [{"role": "user", "content": _PROMPT}],
        "max_tokens": _REPLY_TOKENS,
        "temperature": 0,
    }
    try:
        response = await client.post(
            f"{address.api_url}/chat/completions",
            json=body,
            timeout=httpx2.Timeout(_REPLY_SECONDS, connect=CONNECT_SECONDS),
        )
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        return ReportAnswer(error=_reason(error, asked))
    if not response.is_success:
        failure = error_of_answer(response.status_code, response.headers, response.content, asked)
        return ReportAnswer(error=one_line(failure.message))
    _, value = parse(response.content.decode("utf-8", "replace"))
    told = a_dict(a_dict(a_dict(value).get("metrics")).get("speculative_decoding"))
    steps = ints(told.get("per_step_accepted"))
    return ReportAnswer(has_counts=bool(told), steps=None if steps is None else len(steps))


def _reason(error: Exception, asked: Asked) -> str:
    return one_line(redact(str(error), (asked.key,)), 200) or type(error).__name__
