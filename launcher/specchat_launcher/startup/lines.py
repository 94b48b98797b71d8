"""Lines of a server's log: taken from a stream of text, cleaned, and read for who wrote them. Pure.

Owns what a line is: where it ends, what is not part of it (colours, secrets, names of processes), and its length.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 8192

ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SECRETS = (
    (re.compile(r"\bhf_[A-Za-z0-9]{8,}"), "hf_***"),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{8,}"), "sk-***"),
    (re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}"), r"\1***"),
    (re.compile(r"(?i)('?api[_-]key'?\s*[:=]\s*)(?:\[[^\]]*\]|'[^']*'|[^\s,}\]]+)"), r"\1***"),
    (re.compile(r"(?i)\b((?:HF|HUGGING_FACE_HUB)_TOKEN\s*[:=]\s*)\S+"), r"\1***"),
)
SECRET_HINT = re.compile(r"hf_|sk-|[Bb][Ee][Aa][Rr][Ee][Rr]|[Kk][Ee][Yy]|_[Tt][Oo][Kk][Ee][Nn]")

PROCESS = re.compile(r"\((?P<name>[A-Za-z][\w.-]*)(?: rank=(?P<rank>\d+))? pid=\d+(?:, ip=[\d.]+)?\)[ ]?")
# Two processes that write at once can leave both on one line.
GLUED = re.compile(r"(?<=\S)(?=\((?:APIServer|ApiServer|EngineCore|VllmWorker|Worker)\w*(?: rank=\d+)? pid=\d+\) )")
RANKED = re.compile(r"\[rank(?P<rank>\d+)\]:[ ]?")
LEVEL = re.compile(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<stamp>\d\d-\d\d \d\d:\d\d:\d\d) (?:\[[^\]]+\]|[\w./]+:\d+\])[ ]?"
)
PLAIN_LEVEL = re.compile(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):\s+")
SGLANG = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?P<ranks>(?: [A-Z]{2}\d+)*)\][ ]?")
NATIVE = re.compile(r"\[?(?P<level>[IWEF])\d{4}(?= )(?=[^\]]{0,120}\]).*?\][ ]?")
RANK = re.compile(r"TP(\d+)")
NATIVE_LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log.

    Attributes:
        shown: The line as it is shown, without colours and secrets.
        process: Name of the process that wrote it, such as `Worker_TP3`; empty where it does not say so.
        rank: Its place among the tensor-parallel workers; None where it does not say so.
        level: `INFO`, `WARNING`, `ERROR` and so on; empty for what is printed without one.
        stamp: Month, day and time, as vLLM writes them; empty where there is none.
        text: What it says, with its indentation.
    """

    shown: str
    process: str
    rank: int | None
    level: str
    stamp: str
    text: str


class LineFeed:
    """Turns pieces of text, split anywhere, into lines.

    A carriage return ends a line as well: progress bars redraw themselves with it, and a crash may follow one.
    """

    def __init__(self) -> None:
        self._pending = ""

    @property
    def pending(self) -> str:
        """The line that has not ended yet, cleaned."""
        return clean(self._pending)

    def lines(self, text: str) -> Iterator[LogLine]:
        """The lines that a piece of text completes."""
        parts = re.split(r"[\r\n]", text)
        for part in parts[:-1]:
            whole = self._joined(part)
            self._pending = ""
            yield from read_lines(whole)
        self._pending = self._joined(parts[-1])

    def _joined(self, part: str) -> str:
        # Cut by the length of the whole line, so that the cut does not depend on where the text was split.
        return (self._pending + part[: LONGEST - len(self._pending)])[:LONGEST]


def read_lines(raw: str) -> Iterator[LogLine]:
    """The log lines in one line of text: none when it is empty, two when processes wrote at once."""
    for part in GLUED.split(clean(raw)):
        line = read_line(part)
        if line.text.strip():
            yield line


def clean(raw: str) -> str:
    """A line without colours, control characters and secrets."""
    text = raw.rstrip()
    # A server that runs writes hundreds of thousands of lines, nearly all of them plain.
    if not text.isprintable():
        text = CONTROL.sub("", ESCAPE.sub("", text)).rstrip()
    if SECRET_HINT.search(text):
        for pattern, mask in SECRETS:
            text = pattern.sub(mask, text)
    return text


def read_line(shown: str) -> LogLine:
    """What a cleaned line says, and who says it."""
    rest, process, rank, level, stamp = shown, "", None, "", ""
    if found := PROCESS.match(rest):
        process, rest = found["name"], rest[found.end() :]
        rank = int(found["rank"][:6]) if found["rank"] else _rank(process)
    if found := RANKED.match(rest):
        rank, rest = int(found["rank"][:6]), rest[found.end() :]
        process = process or f"rank{rank}"
    if found := SGLANG.match(rest):
        rest = rest[found.end() :]
        rank = _rank(found["ranks"])
        process = process or found["ranks"].strip()
    if found := LEVEL.match(rest):
        level, stamp, rest = found["level"], found["stamp"], rest[found.end() :]
    elif found := PLAIN_LEVEL.match(rest):
        level, rest = found["level"], rest[found.end() :]
    elif found := NATIVE.match(rest):
        level, rest = NATIVE_LEVELS[found["level"]], rest[found.end() :]
    return LogLine(shown, process, rank, level, stamp, rest)


def _rank(name: str) -> int | None:
    found = RANK.search(name)
    return int(found[1][:6]) if found else None
