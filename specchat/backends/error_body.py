"""What an error answer says, in whichever of the many shapes servers use. Reads; judges nothing."""

import ast
import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from specchat.backends.json_reading import a_dict, a_text, an_int, parse

_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_HEADING = re.compile(r"<h[12][^>]*>(.*?)</h[12]", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_INVISIBLE = re.compile(r"<(script|style)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_MESSAGE_NAMES = ("message", "msg", "error_message", "detail", "details", "reason", "title", "error", "errors", "raw")
_CODE_NAMES = ("code", "status", "status_code")
_DEEPEST = 6
_LONGEST_LITERAL = 20_000


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The content of an error answer."""

    text: str
    """The message, as the server wrote it; "" if there is none."""
    code: int | None = None
    """A number that the error object gives as its code or status."""
    kind: str = ""
    """The error object's type and code words, in lower case."""
    param: str = ""
    """The field that the error object blames."""
    is_html: bool = False
    values: Mapping[str, int] = field(default_factory=dict)
    """Whole numbers of the error object, such as `n_ctx`."""


def read_error_body(body: bytes) -> ErrorBody:
    """Read the body of an answer whose status is an error, or that should have been a stream."""
    text = body.decode("utf-8-sig", "replace")
    is_json, value = parse(text)
    if is_json:
        error = read_error_value(value)
        return error if error.text else replace(error, text=text.strip())
    if looks_like_html(text):
        return ErrorBody(html_gist(text), is_html=True)
    return ErrorBody(text.strip())


def read_error_value(value: object) -> ErrorBody:
    """Read an error that came as JSON: an object, an array of them, or a string."""
    text = message_in(value)
    for holder in _holders(value):
        # A router puts its upstream's own words beside its own, which say little.
        upstream = message_in(a_dict(holder.get("metadata")).get("raw"))
        if upstream and upstream not in text:
            text = f"{text}: {upstream}" if text else upstream
    for holder in _holders(value):
        code = next((number for name in _CODE_NAMES if (number := _number(holder.get(name)))), None)
        words = " ".join(word for name in ("type", "code", "status") if (word := a_text(holder.get(name))))
        return ErrorBody(
            text or words,
            code=code,
            kind=words.lower(),
            param=a_text(holder.get("param")) or "",
            values={name: number for name, item in holder.items() if (number := an_int(item)) is not None},
        )
    return ErrorBody(text)


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else an_int(value)


def _holders(value: object) -> list[dict[str, object]]:
    """The error object itself: the innermost one that has more to say than its wrapper."""
    if isinstance(value, list):
        return next((found for item in value if (found := _holders(item))), [])
    if not isinstance(value, dict):
        return []
    inner = value.get("error")
    if isinstance(inner, str):
        is_json, parsed = parse(inner)
        inner = parsed if is_json else None
    return _holders(inner) or [value]


def message_in(value: object, depth: int = 0) -> str:
    """The sentence inside an error value, however deep."""
    if depth > _DEEPEST:
        return ""
    if isinstance(value, str):
        return message_in(_nested(value), depth + 1) or value.strip()
    if isinstance(value, list):
        return "; ".join(text for item in value if (text := _item_message(item, depth)))
    if not isinstance(value, dict):
        return ""
    for name in _MESSAGE_NAMES if not isinstance(value.get("error"), dict) else ("error", *_MESSAGE_NAMES):
        text = message_in(value.get(name), depth + 1)
        if text:
            return text
    return ""


def _item_message(item: object, depth: int) -> str:
    """One entry of a list of faults; FastAPI puts the field's path beside the message."""
    holder = a_dict(item)
    place = holder.get("loc")
    path = ".".join(str(part) for part in place) if isinstance(place, list | tuple) else ""
    text = message_in(item, depth + 1)
    return f"{path}: {text}" if path and text else text


def _nested(text: str) -> object:
    """The value of a text that is JSON, or a Python list as pydantic's errors are when a server just prints them."""
    if text.lstrip()[:1] not in {"{", "["} or len(text) > _LONGEST_LITERAL:
        return None
    is_json, value = parse(text)
    if is_json:
        return value
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def looks_like_html(text: str) -> bool:
    """Is this a page for a browser?"""
    start = text.lstrip("\ufeff \t\r\n")[:2000].lower()
    return start.startswith(("<!doctype html", "<html", "<head", "<body")) or ("<html" in start and start[:1] == "<")


def html_gist(page: str) -> str:
    """A page's title, else its heading, else the beginning of its text."""
    for pattern in (_TITLE, _HEADING):
        found = pattern.search(page)
        if found and (text := _plain(found[1])):
            return text
    return _plain(_INVISIBLE.sub(" ", page))[:200]


def _plain(markup: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())
