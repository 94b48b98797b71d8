"""Reads files of prompts: lines or blocks of a text file, or JSONL of the kinds that benchmarks use. Asks nobody.

Every error names the file and the line. What each kind holds is in docs/guide/comparing.md.
"""

import json
import re
from pathlib import Path

from specchat.core.comparison.plan import Prompt
from specchat.core.errors import ConfigurationError
from specchat.core.harmless import one_line

_JSON_ENDINGS = {".jsonl", ".ndjson", ".json"}
_ROLES = ("system", "developer", "user", "assistant")
_UNFETCHED = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE"
"""What SPEED-Bench's published rows begin with where the text itself may not be published."""
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """The prompts of a file, in its order.

    A name that ends in .jsonl, .ndjson or .json means one JSON object a line; any other file is text.

    Raises:
        ConfigurationError: If it cannot be read, holds no prompt, or a line of it is none.
    """
    shown = one_line(str(path), 200)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(
            f"The prompts in {shown} cannot be read: {error.strerror or error}.", "Name a file with --prompts."
        ) from error
    except UnicodeDecodeError as error:
        # The decoder has taken the mark at the beginning off, so the place is that of the bytes behind it.
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigurationError(f"{shown}, line {line}: this is not UTF-8.", "Save the file as UTF-8.") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    prompts = _of_json_lines(shown, text) if path.suffix.lower() in _JSON_ENDINGS else _of_text(text)
    if not prompts:
        raise ConfigurationError(f"There is no prompt in {shown}.", "Write one a line.")
    return prompts


def _of_text(text: str) -> tuple[Prompt, ...]:
    """A prompt a line; in a file that has an empty line between texts, a prompt a block."""
    text = text.strip("\n \t")
    parts = _EMPTY_LINE.split(text) if _EMPTY_LINE.search(text) else text.split("\n")
    return tuple(Prompt((part.strip(),)) for part in parts if part.strip())


def _of_json_lines(shown: str, text: str) -> tuple[Prompt, ...]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(_of_object(json.loads(line)))
        except json.JSONDecodeError as error:
            what = "this is not JSON" if number > 1 or line.strip() not in {"[", "{"} else "one object a line is wanted"
            raise ConfigurationError(
                f"{shown}, line {number}: {what} ({error.msg} at column {error.colno}).",
                "Write one JSON object a line.",
            ) from error
        except (ValueError, RecursionError) as error:
            text_of = str(error) if isinstance(error, ValueError) else "this is nested too deeply"
            raise ConfigurationError(f"{shown}, line {number}: {text_of}.", "See docs/guide/comparing.md.") from error
    return tuple(found)


def _of_object(value: object) -> Prompt:
    """One line.

    Raises:
        ValueError: If it is no prompt, with the reason.
    """
    if isinstance(value, str):
        return Prompt((_said(value, "the text"),))
    if not isinstance(value, dict):
        raise ValueError("a prompt is an object with “prompt”, “messages” or “turns”")  # noqa: TRY004 - what a file holds is a value
    kinds = [name for name in ("turns", "messages", "prompt") if value.get(name) is not None]
    if not kinds:
        raise ValueError("there is no “prompt”, “messages” or “turns”")
    name = next((str(value[key]) for key in ("id", "question_id", "name") if value.get(key) is not None), "")
    category = value.get("category")
    before, turns = {"turns": _turns, "messages": _messages, "prompt": _prompt}[kinds[0]](value[kinds[0]])
    return Prompt(turns, before, one_line(name, 80), one_line(category, 80) if isinstance(category, str) else "")


_Conversation = tuple[tuple[tuple[str, str], ...], tuple[str, ...]]
"""What comes first, and the turns."""


def _prompt(value: object) -> _Conversation:
    return (), (_said(value, "“prompt”"),)


def _turns(value: object) -> _Conversation:
    if isinstance(value, str):
        return (), (_said(value, "“turns”"),)
    if not isinstance(value, list) or not value:
        raise ValueError("“turns” is a list of texts")
    return (), tuple(_said(one, f"turn {number}") for number, one in enumerate(value, 1))


def _messages(value: object) -> _Conversation:
    """A conversation whose last message is the user's. User messages alone are turns, as some benchmarks write them."""
    if not isinstance(value, list) or not value:
        raise ValueError("“messages” is a list of objects with “role” and “content”")
    found = [_message(one, number) for number, one in enumerate(value, 1)]
    leading = 0
    while leading < len(found) and found[leading][0] in {"system", "developer"}:
        leading += 1
    rest = found[leading:]
    if rest and all(role == "user" for role, _ in rest):
        return tuple(found[:leading]), tuple(content for _, content in rest)
    if found[-1][0] != "user":
        raise ValueError(f"the last of “messages” is the user's to say, and here it is of “{found[-1][0]}”")
    return tuple(found[:-1]), (found[-1][1],)


def _message(value: object, number: int) -> tuple[str, str]:
    role = value.get("role") if isinstance(value, dict) else None
    if not isinstance(value, dict) or role not in _ROLES:
        raise ValueError(f"message {number} has no “role” of {', '.join(_ROLES)}")
    content = value.get("content")
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        if not all(isinstance(part, str) for part in parts):
            raise ValueError(f"message {number} holds something that is no text")
        content = "".join(part for part in parts if isinstance(part, str))
    return str(role), _said(content, f"message {number}")


def _said(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} is no text")  # noqa: TRY004 - what a file holds is a value
    if not value.strip():
        raise ValueError(f"{what} is empty")
    if value.startswith(_UNFETCHED):
        raise ValueError(f"{what} is a placeholder of SPEED-Bench, not a prompt: prepare the data set first")
    return value
