"""The figures in one line, for a screen without panels. The most important come first, since the last give way."""

from specchat.core.counters import Verdict
from specchat.ui.panels.drawing import NONE, TIMES, Run, number, percent
from specchat.ui.panels.edges import WAYS
from specchat.ui.panels.gpu_rows import gpu_figures
from specchat.ui.panels.model import ComparisonView, PanelsView, ReplyView, ServerView

_VERDICTS: dict[Verdict, Run] = {
    Verdict.AGREES: ("counters agree", "good"),
    Verdict.DIFFERS: ("counters differ", "bad"),
    Verdict.NOT_ALONE: ("others ran meanwhile", "dim"),
    Verdict.NOT_COMPARABLE: ("counters not comparable", "dim"),
}
_MOST_POSITIONS = 8


def figures(view: PanelsView) -> tuple[Run, ...]:
    """Every figure of the panels, each of them one run."""
    runs: list[Run] = [
        (f"AL {number(view.acceptance.mean, 2, 4)}", "strong"),
        (f"{number(view.rate.mean, 1, 5)} t/s", "strong"),
    ]
    if view.acceptance.mean is None and view.acceptance.evidence:
        runs.append((view.acceptance.evidence.removeprefix(f"{NONE} "), "dim"))
    runs += _comparison(view.comparison)
    if view.positions.rates:
        shares = " ".join(f"{rate * 100:.0f}" for rate in view.positions.rates[:_MOST_POSITIONS])
        runs.append((f"by position {shares} %", ""))
    return *runs, *_reply(view.reply), *_server(view.server), *gpu_figures(view.gpus), *_end(view.reply)


def _comparison(view: ComparisonView) -> list[Run]:
    if not view.possible:
        return []
    if view.ratio is None:
        return [(f"on/off {NONE}", "dim")]
    kind = "" if view.off_way is None else f" ({WAYS[view.off_way]})"
    return [(f"on/off {view.ratio:.2f} {TIMES}{kind}", "good" if view.ratio >= 1 else "bad")]


def _reply(view: ReplyView) -> list[Run]:
    runs: list[Run] = []
    if view.evidence:
        runs.append((view.evidence, "dim"))
    if view.kept is not None and view.drafted is not None:
        runs.append((f"kept {view.kept} of {view.drafted}", ""))
    if view.first_token_ms is not None:
        runs.append((f"first token {view.first_token_ms:.0f} ms", ""))
    if view.step_ms is not None:
        runs.append((f"step {view.step_ms:.0f} ms", ""))
    return runs


def _server(view: ServerView) -> list[Run]:
    load = view.load
    runs: list[Run] = []
    if load.running is not None:
        waiting = f", {load.waiting} waiting" if load.waiting else ""
        runs.append((f"{load.running} running{waiting}", ""))
    if load.kv_cache_usage is not None:
        runs.append((f"KV cache {percent(load.kv_cache_usage).strip()}", ""))
    if load.tokens_per_second is not None:
        runs.append((f"all clients {load.tokens_per_second:.0f} t/s", ""))
    return runs


def _end(view: ReplyView) -> list[Run]:
    runs: list[Run] = []
    if view.verdict in _VERDICTS:
        text, look = _VERDICTS[view.verdict]
        runs.append((text, "bad" if view.check_failed else "dim" if look == "bad" else look))
    if view.cut:
        runs.append((f"{view.cut} past the end", ""))
    return runs
