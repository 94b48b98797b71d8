"""From what was kept of a log to why the server ended, and to what it lives with. Pure.

Owns the order of evidence: a known sign, then how the process ended, then a weaker sign, then the first real error.
"""

import re
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence

from specchat_launcher.startup.findings import Diagnosis
from specchat_launcher.startup.jit import STUCK_AFTER_S, JitBuilds
from specchat_launcher.startup.phases import StartPhase
from specchat_launcher.startup.record import Entry
from specchat_launcher.startup.root_cause import (
    SURVIVED,
    RootCause,
    before_stop,
    find_root_cause,
    has_reports,
    is_source,
    last_milestones,
    was_stopped,
)
from specchat_launcher.startup.symptoms import GENERAL_SYMPTOMS, Symptom
from specchat_launcher.startup.symptoms_gpu import GPU_SYMPTOMS, NOTES

FATAL: tuple[Symptom, ...] = GPU_SYMPTOMS + GENERAL_SYMPTOMS
QUOTED = 600
TITLED = 240
MOST_QUOTES = 5

PORT = re.compile(r"'port': (?P<port>\d{1,5})")
DRAFT_ERRORS = re.compile(
    r"^(?:\w+\.)*(?:KeyError|ValueError|AssertionError|AttributeError|RuntimeError|TypeError|IndexError)\b"
)

INTERRUPTED = Diagnosis(
    "interrupted", "fatal", "The server was stopped from outside (interrupted).", "Start it again when you want it."
)
TERMINATED = Diagnosis("terminated", "fatal", "The server was ended by another program.", "Start it again.")
KILLED = Diagnosis(
    "killed",
    "fatal",
    "The server was killed (signal 9), and the log does not say by whom.",
    "Most likely the computer's memory ran out: `sudo dmesg | grep -i oom` tells. Close other programs and try again.",
)
ENGINE_DIED = Diagnosis(
    "engine-died",
    "fatal",
    "A process of the engine ended without a word, and the server with it.",
    "Most likely it was killed because the computer's memory ran out: `sudo dmesg | grep -i oom` tells. Close other "
    "programs and try again.",
)
ILLEGAL = Diagnosis(
    "cpu-unsupported",
    "fatal",
    "The server uses an instruction that this processor does not have.",
    "Take a build for this processor; `specchat doctor` shows what it can do.",
)
NO_REASON = "no-reason"
SHELL_SIGNALS = 128
SIGNALS = frozenset(signal.Signals)


def diagnosis_of(entries: Sequence[Entry], exit_code: int | None, jit: JitBuilds) -> Diagnosis:
    """Why a server ended, or does not get on.

    Args:
        entries: What was kept of its log.
        exit_code: How its process ended, negative for a signal as `subprocess` gives it, or above 128 as shells and
            containers give it; None while it runs or where it is not known.
        jit: The state of the kernels' builds.
    """
    whole_life = _last_life(entries)
    last_life = before_stop(whole_life)
    values = _values(entries)
    number = signal_number(exit_code)
    alive = last_milestones(last_life)
    fresh = [entry for index, entry in enumerate(last_life) if index > alive.get(entry.line.process, -1)]
    found = (
        _first(fresh, FATAL, values, weak=False)
        or stuck_lock(entries, jit, 0.0)
        or _ended_by(number)
        or _first(fresh, FATAL, values, weak=True)
    )
    if found is not None:
        return found
    root = find_root_cause(last_life)
    if root is not None:
        return _of_root_cause(root)
    if was_stopped(whole_life):
        return INTERRUPTED
    return ENGINE_DIED if has_reports(last_life) else _without_reason(exit_code, number, _phase(entries))


def signal_number(exit_code: int | None) -> int | None:
    """The signal that ended a process; None where none did."""
    if exit_code is None:
        return None
    number = -exit_code if exit_code < 0 else exit_code - SHELL_SIGNALS
    return number if number in SIGNALS else None


def notes_in(entry: Entry) -> Iterator[Diagnosis]:
    """What one line says that a server lives with."""
    for symptom in NOTES:
        match = symptom.pattern.search(entry.line.text)
        if match is not None:
            yield _told(symptom, match, entry, {}, (entry,))


def stuck_lock(entries: Iterable[Entry], jit: JitBuilds, quiet_seconds: float) -> Diagnosis | None:
    """The diagnosis of workers that wait for a lock which nobody holds; None while waiting is normal.

    Args:
        entries: What was kept of the log.
        jit: The state of the builds.
        quiet_seconds: Seconds since the log last moved, as this computer's clock has it.
    """
    if jit.building or not jit.locks or max(jit.quiet_seconds, quiet_seconds) < STUCK_AFTER_S:
        return None
    lock = jit.locks[0]
    minutes = max(jit.quiet_seconds, quiet_seconds) / 60
    waiting = [e.line.text for e in entries if "waiting for baton release" in e.line.text and lock in e.line.text]
    return Diagnosis(
        "aiter-lock-stuck",
        "warning",
        f"{jit.waiting} workers have waited for {lock} for {minutes:.0f} minutes, and nobody is building anything.",
        f"Stop the server, delete {lock}, and start again; it happens with --enable-expert-parallel, so leave that out "
        "if it comes back.",
        _quotes(waiting),
    )


def _first(
    entries: Sequence[Entry], table: Sequence[Symptom], values: Mapping[str, str], *, weak: bool
) -> Diagnosis | None:
    """The first sign in the log; where one line holds several, the first of the table."""
    wanted = [symptom for symptom in table if symptom.is_weak is weak]
    for entry in entries:
        for symptom in wanted:
            match = _match(symptom, entry)
            if match is not None:
                return _told(symptom, match, entry, values, entries)
    return None


def _match(symptom: Symptom, entry: Entry) -> re.Match[str] | None:
    if symptom.severity == "fatal" and (
        entry.line.level in SURVIVED or is_source(entry.line.text) is not symptom.is_frame
    ):
        return None
    return symptom.pattern.search(entry.line.text)


def _told(
    symptom: Symptom, match: re.Match[str], entry: Entry, values: Mapping[str, str], entries: Iterable[Entry]
) -> Diagnosis:
    groups = {name: value.strip().rstrip(".") for name, value in match.groupdict().items() if value}
    words = {
        "phase": entry.phase.value,
        **dict.fromkeys(match.groupdict(), ""),
        **symptom.defaults,
        **values,
        **groups,
    }
    title = re.sub(r" +([ ,.])", r"\1", symptom.title.format(**words))
    alike = [(other, found) for other in entries if (found := _match(symptom, other)) is not None]
    texts = [other.line.text[: found.end() if symptom.is_clipped else None] for other, found in alike]
    return Diagnosis(symptom.cause, symptom.severity, _sentence(title), symptom.remedy.format(**words), _quotes(texts))


def _quotes(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_clip(text.strip()) for text in texts))[:MOST_QUOTES]


def _clip(text: str, most: int = QUOTED) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _sentence(text: str) -> str:
    stripped = text.strip()
    return stripped if stripped.endswith((".", "!", "?", "…")) else f"{stripped}."


def _of_root_cause(root: RootCause) -> Diagnosis:
    quoted, text = _clip(root.text), _clip(root.text, TITLED)
    if root.phase is StartPhase.DRAFT and DRAFT_ERRORS.match(root.text):
        return Diagnosis(
            "draft-does-not-fit",
            "fatal",
            f"The draft model, not the target, could not be loaded by this version: {_sentence(text)}",
            "Check that the draft was made for this target, and take a version of the server that knows its kind; or "
            "start without speculation.",
            (quoted,),
        )
    return Diagnosis(
        "unknown",
        "fatal",
        f"{_who(root.process)} failed while {_doing(root.phase)}: {_sentence(text)}",
        "This error is not in specchat's table. The log shows what led to it; search for it where the server is "
        "developed.",
        (quoted,),
    )


def _who(process: str) -> str:
    if process.startswith("EngineCore"):
        return "The engine"
    return f"The worker {process}" if process.startswith(("Worker", "VllmWorker", "rank", "TP")) else "The server"


def _doing(phase: StartPhase) -> str:
    return "it was running" if phase is StartPhase.READY else phase.value


def _ended_by(number: int | None) -> Diagnosis | None:
    endings = {signal.SIGKILL: KILLED, signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED, signal.SIGILL: ILLEGAL}
    return endings.get(signal.Signals(number)) if number is not None else None


def _without_reason(exit_code: int | None, number: int | None, phase: StartPhase) -> Diagnosis:
    if number is not None:
        return Diagnosis(
            "crashed",
            "fatal",
            f"The server crashed (signal {number}) while {_doing(phase)}, without a word.",
            "Look at `sudo dmesg`, and at the last lines of the log.",
        )
    said = f"It ended with exit code {exit_code} and gave no reason" if exit_code is not None else "It gave no reason"
    return Diagnosis(NO_REASON, "fatal", f"{said}, while {_doing(phase)}.", "Look at the last lines of the log.")


def _phase(entries: Sequence[Entry]) -> StartPhase:
    return entries[-1].phase if entries else StartPhase.STARTING


def _last_life(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The lines since the server was ready, since it outlived everything before; all of them if it never was."""
    if not entries or entries[-1].phase is not StartPhase.READY:
        return entries
    return [entry for entry in entries if entry.phase is StartPhase.READY]


def _values(entries: Sequence[Entry]) -> dict[str, str]:
    values = {}
    for entry in entries:
        if "non-default args" not in entry.line.text:
            continue
        if found := PORT.search(entry.line.text):
            values["port"] = f"Port {found['port']}"
    return values
