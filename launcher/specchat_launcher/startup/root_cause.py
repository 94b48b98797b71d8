"""The line that says why a server failed, where no known sign does. Pure.

Owns the telling apart of a first failure from the reports that follow it: when one process of a server fails, every
other one says so, and the last line is the least informative of all.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specchat_launcher.startup.milestones import milestone
from specchat_launcher.startup.phases import StartPhase
from specchat_launcher.startup.record import Entry

EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w{0,80}\.){0,12}(?:[A-Z]\w{0,80})?(?:Error|Exception|Exit|Interrupt|Expired|Timeout)(?::\s.*)?$"
)
USAGE = re.compile(r"^\S.{0,80}?: error: .+$")
NATIVE = re.compile(
    r"^(?:Fatal Python error: |Segmentation fault|terminate called after throwing|\s+what\(\):\s|docker: |podman: |"
    r"Error: |Error response from daemon: |Illegal instruction|Bus error|\S+: command not found|Aborted)"
)
WRAPPER = re.compile(
    r"Engine core initialization failed|WorkerProc initialization failed|died unexpectedly|[Ss]ee root cause above|"
    r"EngineDeadError|stack trace above|EngineCore encountered an issue|"
    r"EngineCore failed to start|output_handler failed"
)
STOPPING = re.compile(r"\[shutdown\] API server: shutdown triggered")
STOPPED = re.compile(r"^(?:\w+\.)*(?:KeyboardInterrupt|SystemExit|CancelledError|GracefulExit)\b")
FOLLOWS = re.compile(
    r"^(?:\w+\.)*(?:BrokenPipeError|ConnectionResetError|EOFError|ConnectionRefusedError)\b|Connection closed by peer|"
    r"remote process exited|NCCL communicator was aborted"
)
CHAINED = re.compile(
    r"^(?:During handling of the above exception, another exception occurred|"
    r"The above exception was the direct cause of the following exception)"
)
SURVIVED = frozenset({"DEBUG", "INFO", "WARNING"})


@dataclass(frozen=True, slots=True)
class RootCause:
    """A failure as the log words it.

    Attributes:
        text: What it says, with the reason that stands below it.
        process: The process that failed; empty where the log does not say.
        phase: The phase of the start that it failed in.
    """

    text: str
    process: str
    phase: StartPhase


def is_source(text: str) -> bool:
    """Whether a line is a frame of a traceback, which may quote messages that nobody raised."""
    return text.startswith(("    ", '  File "', "\t"))


def find_root_cause(entries: Sequence[Entry]) -> RootCause | None:
    """The first failure that nothing recovered from; None where the log has none.

    Args:
        entries: The lines, in their order.
    """
    found = sorted(_failures(entries))
    if not found:
        return _native_failure(entries)
    alive = last_milestones(entries)
    lasting = [index for index in found if index > alive.get(entries[index].line.process, -1)] or found[-1:]
    first = [index for index in lasting if not FOLLOWS.search(entries[index].line.text)]
    if not first and has_reports(entries):
        # Whatever ended first left no word; the others only lost it.
        return None
    return _root(entries, (first or lasting)[0])


def was_stopped(entries: Sequence[Entry]) -> bool:
    """Whether the log shows that somebody stopped the server."""
    return any(STOPPED.match(entry.line.text) or STOPPING.search(entry.line.text) for entry in entries)


def before_stop(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The lines up to an orderly stop, since what fails while a server is taken down is no reason for its end."""
    end = next((i for i, entry in enumerate(entries) if STOPPING.search(entry.line.text)), len(entries))
    return entries[:end]


def has_reports(entries: Sequence[Entry]) -> bool:
    """Whether a process reports that another one failed or ended."""
    return any(WRAPPER.search(entry.line.text) for entry in entries)


def _failures(entries: Sequence[Entry]) -> Iterator[int]:
    """Places of the failures that no later one of the same chain explains."""
    last: dict[str, int] = {}
    for index, entry in enumerate(entries):
        line = entry.line
        if line.level in SURVIVED:
            continue
        text = line.text.rstrip()
        if CHAINED.match(text):
            last.pop(line.process, None)
        elif _is_failure(text):
            if line.process in last:
                yield last.pop(line.process)
            last[line.process] = index
    yield from last.values()


def _is_failure(text: str) -> bool:
    if is_source(text) or WRAPPER.search(text) or STOPPED.match(text):
        return False
    return bool(EXCEPTION.match(text) or USAGE.match(text))


def _native_failure(entries: Sequence[Entry]) -> RootCause | None:
    for index, entry in enumerate(entries):
        text = entry.line.text
        loud = entry.line.level in {"ERROR", "CRITICAL"} and not is_source(text) and not text.startswith("Traceback")
        if (NATIVE.match(text) or loud) and not WRAPPER.search(text) and not STOPPED.match(text):
            return _root(entries, index)
    return None


def last_milestones(entries: Sequence[Entry]) -> dict[str, int]:
    """Where each process last got on: what went wrong before that, it outlived."""
    alive = {}
    for index, entry in enumerate(entries):
        if milestone(entry.line.text, entry.line.level) is not None:
            alive[entry.line.process] = index
    return alive


def _root(entries: Sequence[Entry], index: int) -> RootCause:
    line = entries[index].line
    text = line.text.strip()
    if "validation error" in text:
        # pydantic puts the reason, indented, into the lines below.
        below = [e.line.text for e in entries[index + 1 : index + 4] if e.line.process == line.process]
        reason = next((words for words in below if words.startswith("  ")), below[0] if below else "")
        text = f"{text} {reason.strip()}".strip()
    return RootCause(text, line.process, entries[index].phase)
