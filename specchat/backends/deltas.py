"""The texts and tool calls inside one choice of a chunk, under all the names that servers give them.

Keeps what must wait for the next chunk, which is half of a surrogate pair, and what a whole `message` may repeat.
"""

import json
from collections.abc import Hashable

from specchat.backends.json_reading import a_dict, a_list, a_text, an_int
from specchat.backends.tool_slots import ToolSlots
from specchat.core.events import ToolCallPart
from specchat.core.speculation import Channel

_REASONING_NAMES = ("reasoning", "reasoning_content", "reasoning_text", "thinking")
_CONTENT_NAMES = ("content", "refusal")
_PART_NAMES = ("text", "content", "thinking", "value", "summary", "refusal")
_DEEPEST = 6
_THINKING_PARTS = ("thinking", "reasoning")


class DeltaReader:
    """Reads the deltas of one reply in order."""

    def __init__(self) -> None:
        self._halves: dict[Hashable, str] = {}
        self._tools = ToolSlots()
        self._said: dict[Channel, list[str]] = {}
        self._by_delta = False
        self._tools_by_delta = False
        self._messages_are_parts = False
        self.spoke = False
        """Has any text come?"""

    def spans(self, choice: dict[str, object]) -> tuple[tuple[Channel, str], ...]:
        """The texts of a choice by channel: reasoning first, since an answer follows its thinking."""
        delta = choice.get("delta")
        found = _texts({"content": delta} if isinstance(delta, str) else a_dict(delta))
        if not found and (text := a_text(choice.get("text"))):
            found = [(Channel.CONTENT, text)]
        self._by_delta = self._by_delta or bool(found)
        if not found:
            found = self._new_in(_texts(a_dict(choice.get("message"))))
        for channel, text in found:
            self._said.setdefault(channel, []).append(text)
        mended = [(channel, self._mend(channel, text)) for channel, text in found]
        self.spoke = self.spoke or bool(found)
        return tuple((channel, text) for channel, text in mended if text)

    def tool_calls(self, choice: dict[str, object]) -> tuple[ToolCallPart, ...]:
        """The parts of tool calls of a choice."""
        delta = a_dict(choice.get("delta"))
        self._tools_by_delta = self._tools_by_delta or bool(delta.get("tool_calls") or delta.get("function_call"))
        if not delta and not self._tools_by_delta:
            delta = a_dict(choice.get("message"))
        parts = [self._tool_part(a_dict(call)) for call in a_list(delta.get("tool_calls"))]
        legacy = a_dict(delta.get("function_call"))
        if legacy:
            parts.append(self._tool_part({"index": 0, "function": legacy}))
        return tuple(parts)

    def flush(self) -> tuple[tuple[Channel, str], ...]:
        """A replacement character for every half of a pair whose other half never came."""
        left = [key for key in self._halves if isinstance(key, Channel)]
        self._halves.clear()
        return tuple((channel, "\ufffd") for channel in left)

    def _new_in(self, message: list[tuple[Channel, str]]) -> list[tuple[Channel, str]]:
        """What a `message` adds: it may repeat the whole so far, hold it and more, or be one more part."""
        found = []
        for channel in dict.fromkeys(channel for channel, _ in message):
            text = "".join(part for other, part in message if other is channel)
            said = "".join(self._said.get(channel, ()))
            if said and not self._messages_are_parts and text.startswith(said):
                text = text[len(said) :]
            elif said and self._by_delta:
                continue  # the same once more, trimmed or mended
            elif said:
                self._messages_are_parts = True
            if text:
                found.append((channel, text))
        return found

    def _tool_part(self, call: dict[str, object]) -> ToolCallPart:
        function = a_dict(call.get("function"))
        call_id = a_text(call.get("id")) or ""
        name = a_text(function.get("name")) or ""
        index = self._tools.find(an_int(call.get("index")), call_id, named=bool(name))
        arguments = function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        return ToolCallPart(
            index,
            self._mend(("name", index), self._tools.new_in_name(index, name)),
            self._mend(("arguments", index), arguments if isinstance(arguments, str) else ""),
            call_id,
        )

    def _mend(self, key: Hashable, text: str) -> str:
        """Join surrogate halves; one at the end waits for the other half in the next chunk."""
        text = self._halves.pop(key, "") + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._halves[key] = text[-1]
            text = text[:-1]
        return well_formed(text)


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined, and a replacement character for each lone half."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _texts(delta: dict[str, object]) -> list[tuple[Channel, str]]:
    """Each text once: some gateways send the thinking under two names."""
    found: list[tuple[Channel, str]] = []
    thoughts = dict.fromkeys(text for name in _REASONING_NAMES if (text := _text_in(delta.get(name))))
    if not thoughts and (text := _text_in(delta.get("reasoning_details"))):
        thoughts = {text: None}
    found += [(Channel.REASONING, text) for text in thoughts]
    for name in _CONTENT_NAMES:
        value = delta.get(name)
        for part in value if isinstance(value, list) else [value]:
            kind = a_text(a_dict(part).get("type")) or ""
            channel = Channel.REASONING if kind.startswith(_THINKING_PARTS) else Channel.CONTENT
            if text := _text_in(part):
                found.append((channel, text))
    return found


def _text_in(value: object, depth: int = 0) -> str:
    """The text of a string, of a part, or of a list of parts."""
    if isinstance(value, str):
        return value
    if depth > _DEEPEST:
        return ""
    if isinstance(value, list):
        return "".join(_text_in(part, depth + 1) for part in value)
    if not isinstance(value, dict):
        return ""
    return next((text for name in _PART_NAMES if (text := _text_in(value.get(name), depth + 1))), "")
