"""The head of the screen, its status and its legend as lines. Everything a server said is made harmless here."""

from enum import Enum, auto

from specchat.core.harmless import one_line
from specchat.core.server import ServerInfo
from specchat.core.switching import Speculation, Way
from specchat.theming import GRADES
from specchat.ui.panels.drawing import BETWEEN, EdgeLine, Line, Run

STALL_SECONDS = 3.0
"""Silence of a running reply that is worth a word."""
_BEFORE_HINTS = 2
"""Figures that matter more than what a key does: the acceptance length and the rate."""


WAYS = {Way.HOOK: "hook", Way.SERVER: "2nd server", Way.RELAUNCH: "relaunch"}
"""In a word, how speculation was switched."""


def made_by(speculation: Speculation) -> str:
    """How a reply is made that has other speculation than the server's own; "" for one that has that."""
    if speculation.limit is None:
        return ""
    exactly = "=" if speculation.way is Way.RELAUNCH else "≤"
    what = "○ off" if speculation.is_off else f"● k {exactly} {speculation.limit}"
    return what if speculation.way is None else f"{what}{BETWEEN}{WAYS[speculation.way]}"


def head(server: ServerInfo, speculation: Speculation, *, can_switch: bool) -> EdgeLine:
    """Which server is asked next, and whether it speculates.

    Args:
        server: The one that is asked next.
        speculation: What it is asked for.
        can_switch: Is there a way to switch it?
    """
    k = server.draft_length
    about = [one_line(server.model or "no model", 60)]
    if k:
        about.append(f"k={k}")
    about.append(one_line(server.url.split("://", 1)[-1], 60))
    if server.version:
        about.append(f"vLLM {one_line(server.version, 30)}")
    left: list[Run] = [(" specchat ", "strong accent"), (f" {about[0]}", "")]
    left += [(f" · {part}", "dim") for part in about[1:]]
    on = True if can_switch and server.speculates is not False else server.speculates
    mark = {True: ("● on", "strong good"), False: ("○ off", "strong"), None: ("? unknown", "dim")}[on]
    if speculation.limit is not None:
        mark = (made_by(speculation), "strong" if speculation.is_off else "strong good")
    return EdgeLine(tuple(left), (("speculation ", "dim"), mark, (" ", "")))


class Phase(Enum):
    """Where the screen stands with a reply."""

    READY = auto()
    ASKED = auto()
    """Nothing has come yet."""
    ANSWERING = auto()
    CHECKING = auto()
    """The text is whole; the server's counters are read."""


_STATES: dict[Phase, Run] = {
    Phase.READY: (" ○ ready", "dim"),
    Phase.ASKED: (" ◌ asked", "good"),
    Phase.ANSWERING: (" ● answering", "good"),
    Phase.CHECKING: (" ◌ checking the figures", "dim"),
}


def status(
    phase: Phase,
    *,
    silent_seconds: float,
    following: bool,
    figures: tuple[Run, ...] = (),
    queued: int = 0,
    narrow: bool = False,
) -> EdgeLine:
    """What goes on.

    Args:
        phase: Of the last reply.
        silent_seconds: How long nothing has come.
        following: Is the end of the transcript in sight?
        figures: The panels in one line, the most important first, where the screen shows no panels.
        queued: Prompts that wait for the reply's end.
        narrow: Is there little room?
    """
    running = phase in {Phase.ASKED, Phase.ANSWERING}
    state = _STATES[phase]
    if running and silent_seconds > STALL_SECONDS:
        state = (f" ◌ waiting {silent_seconds:.0f} s …", "bad")
    parts: list[Run] = [state]
    if queued:
        parts.append((f"{queued} queued", "accent"))
    hints: list[Run] = [("Esc stops", "dim")] if running else []
    parts += [*figures[:_BEFORE_HINTS], *hints, *figures[_BEFORE_HINTS:]]
    left = [run for part in parts for run in ((BETWEEN, "dim"), part)][1:]
    mark = "↓ End " if narrow else "↓ more below · End "
    return EdgeLine(tuple(left), () if following else ((mark, "strong accent"),))


def legend(drafts: int, *, plain: bool, unknown: bool) -> Line:
    """The looks of tokens, drawn with the very looks.

    Args:
        drafts: Draft positions; those that share a look are one entry.
        plain: Are there tokens of steps without a draft?
        unknown: Are there tokens whose origin cannot be told?
    """
    runs: list[Run] = [(" ", "")]
    for position in range(1, min(GRADES, drafts) + 1):
        word = "draft " if position == 1 else ""
        deeper = "+" if position == GRADES < drafts else ""
        runs += [(f"■ {word}{position}{deeper}", f"accepted-{position}"), ("  ", "")]
    runs.append(("■ target", "target"))
    for name, shown in (("plain", plain), ("unknown", unknown)):
        if shown:
            runs += [("  ", ""), (f"■ {name}", name)]
    return Line(tuple(runs))
