"""What is known of a server or a profile, as lines of a width. Plain functions; draws no widget."""

from collections.abc import Sequence

from specchat.session.local_servers import (
    OK,
    ORPHANED,
    PROBLEM,
    READY,
    STARTING,
    STOPPING,
    UNKNOWN,
    WARNING,
    CheckLine,
    ProfileLine,
    ServerLine,
)
from specchat.ui.panels.drawing import NONE, Line, Run, line
from specchat.ui.panels.server_rows import Choice, SavedServer, host_of
from specchat.ui.panels.texts import cut, lasted, sentences

_LABEL_CELLS = 13
_STATES = {
    READY: "answers",
    STARTING: "starting; Enter shows how far it is",
    STOPPING: "stopping",
    ORPHANED: "its front end has gone and left processes behind; s clears them",
}
_CHECKS: dict[str, Run] = {
    OK: ("✓", "good"),
    WARNING: ("!", "accent"),
    PROBLEM: ("✗", "bad"),
    UNKNOWN: ("?", "dim"),
}


def facts_lines(choice: Choice, width: int) -> tuple[Line, ...]:
    """What is known of something in the list.

    Args:
        choice: What the bar stands at.
        width: Cells.
    """
    match choice:
        case ServerLine():
            return _server(choice, width)
        case ProfileLine():
            return profile_lines(choice, width)
        case SavedServer():
            return _saved(choice, width)


def profile_lines(profile: ProfileLine, width: int) -> tuple[Line, ...]:
    """What a profile is, what it needs and whether it can be started here."""
    lines = [*sentences(profile.title, width, "strong"), line(), *sentences(profile.summary, width)]
    if profile.needs:
        lines += [line(), *_entry("needs", profile.needs, width)]
    if not profile.can_launch:
        lines += [line(), *sentences(profile.why_not or "It cannot be started from here.", width, "bad")]
        if profile.url:
            lines += [line(), *_entry("answers at", profile.url, width)]
    elif profile.is_demo:
        lines += [line(), *sentences("It belongs to this chat and ends with it.", width, "dim")]
    else:
        told = "Once started it runs on by itself, also when this chat or its terminal is closed, until it is stopped."
        lines += [line(), *sentences(told, width, "dim")]
    return tuple(lines)


def check_lines(checks: Sequence[CheckLine], width: int) -> tuple[Line, ...]:
    """What was looked at before a launch, a check below the other, with what to do where that is anything."""
    lines: list[Line] = []
    name_cells = min(20, max((len(check.name) for check in checks), default=0))
    for check in checks:
        mark, look = _CHECKS.get(check.state, _CHECKS[UNKNOWN])
        first, *more = sentences(check.evidence or NONE, max(12, width - name_cells - 3)) or (line(),)
        lines.append(
            line(
                (f"{mark} ", look),
                (cut(check.name, name_cells).ljust(name_cells) + " ", "dim" if check.state == OK else look),
                *first.runs,
            )
        )
        indent = " " * (name_cells + 3)
        lines += [line((indent, ""), *row.runs) for row in more]
        if check.advice and check.state != OK:
            lines += sentences(check.advice, width, look if check.state == PROBLEM else "", indent=indent)
        if check.command and check.state != OK:
            lines += sentences(check.command, width, "strong", indent=indent)
    return tuple(lines)


def verdict(checks: Sequence[CheckLine]) -> Run:
    """What the checks together say about a launch."""
    problems = sum(check.state == PROBLEM for check in checks)
    warnings = sum(check.state == WARNING for check in checks)
    if problems:
        return (f"{problems} {'thing' if problems == 1 else 'things'} in the way of a launch", "bad")
    if warnings:
        return (f"a launch can work; {warnings} {'thing is' if warnings == 1 else 'things are'} worth a look", "accent")
    return ("nothing is in the way of a launch", "good")


def _server(server: ServerLine, width: int) -> tuple[Line, ...]:
    lines = [*sentences(server.profile or server.model or host_of(server.url), width, "strong"), line()]
    lines += _entry("address", server.url, width)
    lines += _entry("model", server.model or NONE, width)
    lines += _entry("server", server.version or NONE, width)
    lines += _entry("speculation", server.speculation or NONE, width)
    if server.uptime_seconds is not None:
        lines += _entry("up for", lasted(server.uptime_seconds), width)
    lines += _entry("state", _STATES.get(server.state, server.state), width)
    if server.owner:
        lines += _entry("ends with", server.owner, width)
    if server.log is not None:
        lines += _entry("log", str(server.log), width)
    if not server.started_here:
        lines += [line(), *sentences("specchat did not start it, and never stops it.", width, "dim")]
    return tuple(lines)


def _saved(saved: SavedServer, width: int) -> tuple[Line, ...]:
    return (
        *sentences(host_of(saved.url), width, "strong"),
        line(),
        *_entry("address", saved.url, width),
        *_entry("model", saved.model or NONE, width),
        line(),
        *sentences("The server that you talked to last. It is asked when you connect.", width, "dim"),
    )


def _entry(label: str, value: str, width: int) -> tuple[Line, ...]:
    """A label and its value, which goes on below itself."""
    rows = sentences(value, max(12, width - _LABEL_CELLS)) or (line((NONE, "")),)
    return tuple(
        line((label.ljust(_LABEL_CELLS) if number == 0 else " " * _LABEL_CELLS, "dim"), *row.runs)
        for number, row in enumerate(rows)
    )
