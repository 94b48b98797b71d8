"""Error answers to failures that a user can act on. Pure: status, headers and body in, one sentence and a hint out."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from specchat.backends.error_body import ErrorBody, read_error_body
from specchat.backends.redaction import redact
from specchat.backends.refused_fields import named_fields
from specchat.core.errors import (
    AuthenticationRefused,
    FieldRefused,
    ModelNotServed,
    PromptTooLong,
    ServerRefused,
    SpecchatError,
)
from specchat.core.harmless import one_line

_MESSAGE_LIMIT = 400
_QUOTE_LIMIT = 300
_CLOUDFLARE = range(520, 531)
"""Its own statuses: the server behind it is down, slow or wrong."""
_CHECK_URL = "Check the URL: it should be the server's base address, with or without /v1."

_TOO_LONG = re.compile(
    r"context[ _-]?(length|size|window|limit)|maximum model length|max[_ -]model[_ -]len|\bn_ctx\b|exceed_context|"
    r"(prompt|input|inputs|request|messages?) (is|are) (too|longer)|too many (input )?tokens|"
    r"`?inputs`? (tokens|must have less)|max_num_tokens|maximum (allowed )?(input|prompt|sequence) length",
    re.IGNORECASE,
)
_EXCEEDS = re.compile(
    r"exceed|too (long|large|big)|longer|larger than|greater than|maximum|at most|less than|only [\d,]+|overflow|"
    r"must be <",
    re.IGNORECASE,
)
_LIMITS = (
    r"max_num_tokens \(([\d,]+)",
    r"maximum allowed input length of ([\d,]+)",
    r"(?:context (?:length|size|window|limit)|model length|max_model_len|n_ctx)[^\d.]{0,60}?\(?([\d,]{2,})",
    r"must have less than ([\d,]+)",
    r"must be <= ([\d,]+)",
    r"> ([\d,]+) maximum",
)
_PROMPTS = (
    r"(?:prompt|input) length \(?([\d,]+)",
    r"(?:contains?|has|have)(?: at least)? ([\d,]+) (?:input |prompt )?tokens",
    r"prompt \(length ([\d,]+)\)",
    r"input (?:length )?\(([\d,]+)",
    r"request \(([\d,]+) tokens",
    r"\(([\d,]+) in the messages",
    r"([\d,]+) tokens from the input",
    r"given: ([\d,]+)",
    r"too long: ([\d,]+)",
)
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_LOADING = re.compile(
    r"loading (the )?model|model is (still |currently |being )?load|still loading|is starting up",
    re.IGNORECASE,
)
_NO_MODEL_KINDS = re.compile(r"model_?not_?found|unknown_?model|invalid_?model")
_NO_MODEL = re.compile(
    r"model[^.]*(not (exist|found|available|served|loaded|supported)|n't exist|unknown|invalid)|"
    r"(unknown|invalid|no such|not found)[^.]{0,20}model|model_not_found|no models? (is |are )?loaded",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(
    r"(api[ _-]?key|token|credentials?)[^.]{0,20}(invalid|not valid|incorrect|missing|expired)|"
    r"(invalid|incorrect|missing|no|wrong)[ _](api[ _-]?key|credentials)",
    re.IGNORECASE,
)
_MENTIONS_KEY = re.compile(r"\bkeys?\b|token|credential|authenticat|unauthori[sz]ed|log ?in", re.IGNORECASE)
_FAILS = re.compile(r"error|exception|traceback|failed", re.IGNORECASE)
_RUNNER = re.compile(r"runner|model-runner|inference backend", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked, as far as an error about it needs to know."""

    url: str
    """The server's address, for display."""
    model: str | None = None
    served: tuple[str, ...] = ()
    """Models that the server lists."""
    key: str | None = None
    """The key that was sent; it is shown nowhere."""
    unsent_openai_key: bool = False
    """Is OPENAI_API_KEY set, and kept from this host?"""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int | None
    headers: Mapping[str, str]
    error: ErrorBody
    asked: Asked
    quote: str


def error_of_answer(status: int, headers: Mapping[str, str], body: bytes, asked: Asked) -> SpecchatError:
    """The failure behind an answer with an error status, or with 200 and no stream.

    Args:
        status: The HTTP status.
        headers: With names in lower case.
        body: Decoded from its transfer and content coding.
        asked: What it answers.
    """
    return _judge(status, headers, read_error_body(body), asked)


def error_in_stream(error: ErrorBody, asked: Asked) -> SpecchatError:
    """The failure behind an error object inside an answer that began as a success."""
    status = error.code if error.code is not None and 400 <= error.code < 600 else None
    return _judge(status, {}, error, asked)


def _judge(status: int | None, headers: Mapping[str, str], error: ErrorBody, asked: Asked) -> SpecchatError:
    # Secrets go before anything is cut short.
    quote = one_line(redact(error.text, (asked.key,)), _QUOTE_LIMIT)
    answer = _Answer(status, headers, error, asked, quote)
    for rule in _RULES:
        failure = rule(answer)
        if failure is not None:
            return failure
    return _other(answer)


def _redirect(answer: _Answer) -> SpecchatError | None:
    if answer.status is None or not 300 <= answer.status < 400 or answer.status == 304:
        return None
    target = _shown_url(answer.headers.get("location", ""), answer.asked)
    where = f"to {target}" if target else "without saying where"
    hint = "Give that address to --url if you trust it; specchat follows no redirect, since your key would go along."
    return _refused(f"The server at {answer.asked.url} redirects {where} ({answer.status}).", hint, answer)


def _too_long(answer: _Answer) -> SpecchatError | None:
    error = answer.error
    both = f"{error.text} {error.kind}"
    typed = "n_ctx" in error.values or "context_length" in error.kind
    if answer.status == 413:
        text = f"The request is too large for the server, or for a proxy before it (413){_says(answer)}"
    elif typed or (_TOO_LONG.search(both) and _EXCEEDS.search(both)):
        limit, prompt = error.values.get("n_ctx"), error.values.get("n_prompt_tokens")
        limit = limit if limit is not None else _number(_LIMITS, error.text)
        prompt = prompt if prompt is not None else _number(_PROMPTS, error.text)
        size = "" if limit is None else f" of {limit} tokens"
        vague = "at least " if "at least" in error.text else ""
        counted = "" if prompt is None else f" (the prompt has {vague}{prompt})"
        text = f"The prompt and the reply asked for do not fit the model's context{size}{counted}{_says(answer)}"
    else:
        return None
    hint = "Ask for fewer tokens (--max-tokens, /max in the chat), shorten the prompt, or start a new chat."
    return PromptTooLong(_message(text), hint, status=answer.status)


def _authentication(answer: _Answer) -> SpecchatError | None:
    bad_key = answer.status in {400, None} and _BAD_KEY.search(f"{answer.error.text} {answer.error.kind}")
    if answer.status not in {401, 403, 407} and not bad_key:
        return None
    if answer.status == 407:
        return _refused(f"A proxy wants you to log in (407){_says(answer)}", "Check HTTPS_PROXY and NO_PROXY.", answer)
    asked = answer.asked
    if answer.status == 403 and answer.error.text and not _MENTIONS_KEY.search(answer.error.text):
        problem = "refuses access"
        hint = (
            "If it wants a key, or another one: set SPECCHAT_API_KEY, or name a file that holds it with --api-key-file."
        )
    elif asked.key is not None:
        problem, hint = "does not accept the key", "Check the key in SPECCHAT_API_KEY or --api-key-file."
    else:
        problem, hint = "wants an API key", "Set SPECCHAT_API_KEY, or name a file that holds it with --api-key-file."
    if asked.key is None and asked.unsent_openai_key:
        hint += " OPENAI_API_KEY is set but is not sent to hosts that were not confirmed: --openai-key sends it."
    status = "" if answer.status is None else f" ({answer.status})"
    text = f"The server at {asked.url} {problem}{status}{_says(answer)}"
    return AuthenticationRefused(_message(text), hint, status=answer.status)


def _page(answer: _Answer) -> SpecchatError | None:
    if not answer.error.is_html:
        return None
    status = answer.status or 200
    title = f": “{answer.quote}”" if answer.quote else ""
    if status in {500, 501} or (status >= 505 and status not in _CLOUDFLARE):
        return None
    if status >= 500:
        text = f"A proxy answered that the server behind it does not respond ({status}){title}."
        return _refused(text, "Is the server running, and is the URL the right one?", answer)
    text = f"{answer.asked.url} answered with a web page ({status}){title}: this is no API."
    return _refused(text, _CHECK_URL, answer)


def _loading(answer: _Answer) -> SpecchatError | None:
    if not _LOADING.search(answer.error.text):
        return None
    text = f"The server is up and still loading its model{_says(answer)}"
    return _refused(text, "Try again in a moment.", answer)


def _busy(answer: _Answer) -> SpecchatError | None:
    if answer.status != 429:
        return None
    when = _when(answer.headers) or "Try again later."
    return _refused(f"The server takes no more requests for now (429){_says(answer)}", when, answer)


def _when(headers: Mapping[str, str]) -> str:
    """When to try again, as the server says it; "" if it doesn't."""
    wait = one_line(headers.get("retry-after", ""), 60)
    milliseconds = headers.get("retry-after-ms", "")
    if not wait and _DECIMAL.fullmatch(milliseconds):
        wait = f"{float(milliseconds) / 1000:g}"
    if not wait:
        return ""
    return f"Try again in {wait} s." if _DECIMAL.fullmatch(wait) else f"Try again after {wait}."


def _model(answer: _Answer) -> SpecchatError | None:
    error, asked = answer.error, answer.asked
    named = _NO_MODEL.search(error.text) is not None or _NO_MODEL_KINDS.search(error.kind) is not None
    blames = error.param == "model" or (named and error.param in {"", "None"})
    if answer.status not in {400, 404, 422, None} or not blames:
        return None
    name = "" if asked.model is None else f" “{one_line(asked.model, 80)}”"
    text = f"The model{name} is not served at {asked.url}{_says(answer)}"
    offered = ", ".join(asked.served)
    hint = f"It offers: {one_line(offered, 300)}." if offered else "Name another with --model."
    return ModelNotServed(_message(text), hint, status=answer.status)


def _route(answer: _Answer) -> SpecchatError | None:
    if answer.status not in {404, 405}:
        return None
    text = f"There is no such route at {answer.asked.url} ({answer.status}){_says(answer)}"
    return _refused(text, _CHECK_URL, answer)


def _field(answer: _Answer) -> SpecchatError | None:
    if answer.status not in {400, 422, 500, 501, None}:
        return None
    fields = named_fields(answer.error)
    if not fields:
        return None
    text = f"The server refuses {', '.join(fields)} in the request{_says(answer)}"
    hint = "It is probably older than this client, or stricter than most."
    if "return_token_ids" in fields:
        hint = "It is probably an older server: vLLM knows return_token_ids from 0.10.2 on."
    return FieldRefused(_message(text), hint, status=answer.status, fields=fields)


def _other(answer: _Answer) -> SpecchatError:
    status = answer.status
    shown = "" if status is None else f" ({status})"
    if status is not None and status >= 500:
        later = "Try again in a moment, or see its log." if status == 503 else "Its own log says more."
        later = _when(answer.headers) or later
        problem, hint = "The server failed", later
        if _RUNNER.search(answer.error.text):
            hint = "`docker model logs` says more."
    elif status == 200 and not answer.error.is_html and _FAILS.search(answer.error.text[:_QUOTE_LIMIT]):
        problem, hint = "The server reported an error in its answer", "Its own log may say more."
    elif status is not None and status < 400:
        problem, hint = "The server answered, but not with a stream of chat chunks", _CHECK_URL
    elif status is None:
        problem, hint = "The server reported an error in its answer", ""
    else:
        problem, hint = "The server refused the request", ""
    return _refused(f"{problem}{shown}{_says(answer)}", hint, answer)


_RULES: tuple[Callable[[_Answer], SpecchatError | None], ...] = (
    _redirect,
    _authentication,
    _too_long,
    _loading,
    _busy,
    _page,
    _field,
    _model,
    _route,
)
"""In order: a prompt that is too long must be seen before a field that its message happens to name."""


def _says(answer: _Answer) -> str:
    return f": {answer.quote}" if answer.quote else "."


def _message(text: str) -> str:
    line = one_line(text, _MESSAGE_LIMIT)
    return line if line.endswith((".", "!", "?", "…", "”")) else f"{line}."


def _refused(text: str, hint: str, answer: _Answer) -> ServerRefused:
    return ServerRefused(_message(text), hint, status=answer.status)


def _number(patterns: tuple[str, ...], text: str) -> int | None:
    for pattern in patterns:
        found = re.search(pattern, text, re.IGNORECASE)
        if found and (digits := found[1].replace(",", "")).isdigit():
            return int(digits)
    return None


def _shown_url(location: str, asked: Asked) -> str:
    """A redirect's target without user name, password and query."""
    try:
        parts = urlsplit(location)
        parts = urlsplit(urljoin(f"{asked.url}/", location)) if location else parts
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    base = f"{parts.scheme}://{host}{port}" if host else ""
    return one_line(redact(base + parts.path, (asked.key,)), 200)
