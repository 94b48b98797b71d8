"""A start as lines: its phases and how long each took, a bar, warnings, the end of the log; and why it failed."""

from collections.abc import Sequence

from rich.cells import cell_len

from specchat.session.local_servers import Finding, LaunchFailed, LaunchView, PhaseLine
from specchat.ui.panels.drawing import Line, bar, line, percent
from specchat.ui.panels.texts import cut, lasted, log_lines, sentences

_BAR_CELLS = 30
_PHASE_CELLS = 22
_MOST_OFFENDING = 12
"""Lines of the log under a diagnosis."""
_LAST = 8
"""Lines from the end of the log; the log screen has them all."""
_LOOKS = {"fatal": "bad", "warning": "accent", "info": "dim"}


def progress_lines(view: LaunchView, width: int) -> tuple[Line, ...]:
    """Where a start is: the phases that it has gone through, the one that runs, and what is worth a warning.

    Args:
        view: As last told.
        width: Cells.
    """
    phases = view.phases or (PhaseLine(view.phase, view.phase_seconds, done=False),)
    lines: list[Line] = []
    for phase in phases:
        is_now = not phase.done
        mark = ("◌ ", "strong accent") if is_now else ("✓ ", "good")
        name = cut(phase.name, _PHASE_CELLS - 2).ljust(_PHASE_CELLS)
        time = f"{lasted(view.phase_seconds if is_now else phase.seconds):>11}"
        lines.append(line(mark, (name, "strong" if is_now else ""), (time, "" if is_now else "dim")))
        if is_now:
            lines += _now(view, width)
    if view.overdue:
        lines += [line(), *sentences(view.overdue, width, "accent")]
    for warning in view.warnings:
        lines += [line(), *finding_lines(warning, width)]
    return tuple(lines)


def _now(view: LaunchView, width: int) -> list[Line]:
    lines: list[Line] = []
    if view.fraction is not None:
        cells = max(8, min(_BAR_CELLS, width - 10))
        lines.append(line(("  ", ""), (bar(view.fraction, cells), "accent"), (f" {percent(view.fraction)}", "")))
    lines += sentences(view.detail, width, "dim", indent="  ")
    return lines


def finding_lines(finding: Finding, width: int) -> tuple[Line, ...]:
    """What is wrong, what to do, and the lines of the log that tell."""
    look = _LOOKS.get(finding.severity, "bad")
    lines = [*sentences(finding.title, width, f"strong {look}")]
    if finding.remedy:
        lines += sentences(finding.remedy, width)
    if finding.lines:
        lines += _quoted(finding.lines, width, "dim")
    return tuple(lines)


def failure_lines(failed: LaunchFailed, width: int) -> tuple[Line, ...]:
    """Why a start failed: the diagnosis first, then the end of the log and where the whole of it is."""
    finding = failed.finding
    lines = [*sentences(finding.title, width, "strong bad")]
    if finding.remedy:
        lines += [line(), *sentences(finding.remedy, width)]
    if finding.lines:
        lines += [line(), heading("The lines that say so", width)]
        lines += _quoted(finding.lines, width, "")
    if failed.last_lines:
        lines += [line(), heading("The end of the log", width), *log_lines(failed.last_lines[-_LAST:], width)]
    if failed.log is not None:
        lines += [line(), *sentences(f"The whole log: {failed.log}", width, "dim")]
    return tuple(lines)


def _quoted(texts: Sequence[str], width: int, look: str) -> tuple[Line, ...]:
    """Lines of a log, whole, behind a bar."""
    return tuple(row for text in texts[:_MOST_OFFENDING] for row in sentences(text, width, look, indent="│ "))


def copied_failure(failed: LaunchFailed) -> str:
    """A failure as text for whoever is asked for help."""
    log = "" if failed.log is None else str(failed.log)
    parts = [failed.finding.title, failed.finding.remedy, *failed.finding.lines, "", *failed.last_lines, log]
    return "\n".join(parts).strip() + "\n"


def heading(text: str, width: int) -> Line:
    """A heading with a rule behind it."""
    return line((f"{text} ", "title"), ("─" * max(0, width - cell_len(text) - 1), "rule"))
