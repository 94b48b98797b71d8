"""The head of the screen, its status and its legend as lines. Everything a server said is made harmless here."""

from specchat.core.harmless import one_line
from specchat.core.server import ServerInfo
from specchat.ui.panels.drawing import EdgeLine, Line, Run

STALL_SECONDS = 3.0
"""Silence of a running reply that is worth a word."""


def head(server: ServerInfo, *, speculating: bool, has_baseline: bool) -> EdgeLine:
    """Which server is asked next, and whether it speculates."""
    k = server.draft_length
    about = [one_line(server.model or "no model", 60)]
    if k:
        about.append(f"k={k}")
    about.append(one_line(server.url.split("://", 1)[-1], 60))
    if server.version:
        about.append(f"vLLM {one_line(server.version, 30)}")
    left: list[Run] = [(" specchat ", "strong accent"), (f" {about[0]}", "")]
    left += [(f" · {part}", "dim") for part in about[1:]]
    on = server.speculates if not has_baseline else speculating
    mark = {True: ("● on", "strong good"), False: ("○ off", "strong"), None: ("? unknown", "dim")}[on]
    return EdgeLine(tuple(left), (("speculation ", "dim"), mark, (" ", "")))


def status(*, running: bool, silent_seconds: float, started: bool, following: bool, figures: str) -> EdgeLine:
    """What goes on.

    Args:
        running: Does a reply grow?
        silent_seconds: How long nothing has come.
        started: Did its first token come?
        following: Is the end of the transcript in sight?
        figures: The panels in one line, where there is no room for panels.
    """
    if running and silent_seconds > STALL_SECONDS:
        state = (f" ◌ waiting {silent_seconds:.0f} s …", "bad")
    elif running:
        state = (" ● answering" if started else " ◌ asked", "good")
    else:
        state = (" ○ ready", "dim")
    left = [state]
    if running:
        left.append((" · Esc stops", "dim"))
    if figures:
        left.append((f" · {figures}", ""))
    right = () if following else (("↓ more below · End ", "strong accent"),)
    return EdgeLine(tuple(left), right)


def legend(draft_length: int | None) -> Line:
    """The looks of tokens, drawn with the very looks."""
    count = min(8, draft_length) if draft_length else 3 if draft_length is None else 0
    runs: list[Run] = [(" ", "")]
    for position in range(1, count + 1):
        runs += [("■ draft 1" if position == 1 else f"■ {position}", f"accepted-{position}"), ("  ", "")]
    runs += [("■ target", "target"), ("  ", ""), ("■ plain", "plain"), ("  ", ""), ("■ unknown", "unknown")]
    return Line(tuple(runs))
