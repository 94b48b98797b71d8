"""What switching speculation really was for a reply: what its trace shows of the draft's and the target's work.

Off by the hook is no server without a draft: the draft stays loaded, and may go on working. So what is measured there
is never sold as a true baseline.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from specchat.core.counters import Verdict
from specchat.core.reply import Reply
from specchat.core.server import Hook, ServerInfo
from specchat.core.switching import Way


@dataclass(frozen=True, slots=True)
class SwitchMeaning:
    """What a switched reply was."""

    sentence: str
    """For the reader."""
    is_true_baseline: bool
    """Was the reply made without any draft, so that its speed is that of a server without speculation?"""
    obeyed: bool | None = None
    """Did the server keep to the limit? None where nothing shows it."""
    steps: int | None = None
    """Steps that the trace has; None without one, and then so are the counts below."""
    proposing: int | None = None
    """Steps in which more was proposed than the limit allows."""
    drafting_skipped: int | None = None
    """Steps after which the draft computed no token; what forward remains then is the hook's to say."""
    drafted_for_others: int | None = None
    """Steps after which the draft computed more than the limit all the same, for other requests of the batch."""
    graphs: Mapping[str, int] = field(default_factory=dict)
    """Graph modes of the target's forward, with the number of steps that ran in each."""


def meaning_of(reply: Reply, server: ServerInfo) -> SwitchMeaning | None:
    """What switching meant for a reply; None where nothing was switched, or the reply still runs.

    Args:
        reply: Ended.
        server: Who was asked: `Turn.server`.
    """
    limit = reply.speculation.limit
    if limit is None or reply.is_running:
        return None
    if reply.speculation.way is Way.SERVER:
        return SwitchMeaning(f"off: asked of a server without a draft, {server.url}", is_true_baseline=True)
    if reply.speculation.way is Way.RELAUNCH:
        return _launched_anew(limit, server)
    proposals = "1 proposal" if limit == 1 else f"{limit} proposals"
    name = "off by the hook" if limit == 0 else f"at most {proposals} a step, by the hook"
    if reply.trace is None or not reply.is_traced:
        return _untraced(reply, name, limit)
    rows = reply.trace.rows[1:]
    proposing = sum(row.drafted > limit for row in rows)
    known = [row.width for row in rows if row.width is not None]
    skipped, more = sum(width == 0 for width in known), sum(width > limit for width in known)
    parts = [name + ": " + _proposed(limit, proposing, len(rows))]
    if limit == 0:
        parts += _remaining(server.hook, skipped, len(rows)) if known else []
    if more:
        parts.append(f"after {_share(more, len(rows))} {_more_drafted(server.hook)}")
    graphs = dict(Counter(row.graph for row in rows if row.graph is not None))
    if limit == 0 and "PIECEWISE" in graphs and "FULL" not in graphs:
        parts.append(_NO_FULL_GRAPH)
    return SwitchMeaning(
        "; ".join(parts),
        is_true_baseline=False,
        obeyed=not proposing,
        steps=len(rows),
        proposing=proposing,
        drafting_skipped=skipped if known else None,
        drafted_for_others=more if known else None,
        graphs=graphs,
    )


def _launched_anew(limit: int, server: ServerInfo) -> SwitchMeaning | None:
    """A server that was launched anew has no draft at all, or a shorter one, for everybody."""
    if limit:
        return None  # the server does what it was launched to do, and nothing was switched for this reply
    if server.speculates:
        return SwitchMeaning(
            f"off by a launch anew: {server.url} speculates all the same", is_true_baseline=False, obeyed=False
        )
    return SwitchMeaning(
        f"off: {server.url} was launched anew without a draft",
        is_true_baseline=True,
        obeyed=True if server.speculates is False else None,
    )


def _untraced(reply: Reply, name: str, limit: int) -> SwitchMeaning:
    """Without a trace only the counters of a server that served nobody else can tell."""
    check = reply.check
    alone = check is not None and check.verdict in {Verdict.AGREES, Verdict.DIFFERS}
    if check is None or not alone or check.drafts is None or check.drafted is None:
        return SwitchMeaning(f"{name}: without a trace nothing shows what the draft did", is_true_baseline=False)
    obeyed = check.drafted <= limit * check.drafts
    does = "kept to it" if obeyed else f"drafted {check.drafted} tokens in {_steps(check.drafts)} all the same"
    return SwitchMeaning(f"{name}: by its counters the server {does}", is_true_baseline=False, obeyed=obeyed)


def _proposed(limit: int, proposing: int, steps: int) -> str:
    if proposing:
        return f"in {_share(proposing, steps)} more was proposed all the same, so the server did not obey"
    return "nothing was proposed" if limit == 0 else "no step had more"


_NO_FULL_GRAPH = (
    "the target ran without its full graph (PIECEWISE), which a server without a draft has, so that server may be"
    " several times as fast"
)
"""Steps of one token are no shape for which a speculating server captures a full graph."""


def _more_drafted(hook: Hook | None) -> str:
    """Why the draft computed more than was wanted."""
    always = hook is not None and hook.draft_length and hook.off_draft_forwards == hook.draft_length
    if always:
        return "the draft computed its proposals all the same, and they were thrown away"
    return "the draft computed more all the same, for other requests of the batch"


def _remaining(hook: Hook | None, skipped: int, steps: int) -> list[str]:
    """What the draft still did in steps whose drafting was skipped."""
    forwards = None if hook is None else hook.off_draft_forwards
    if not skipped:
        return []
    if forwards is None:
        return [f"after {_share(skipped, steps)} drafting was skipped; how many draft forwards remained is not known"]
    if forwards == 0:
        return [f"after {_share(skipped, steps)} no draft forward ran, though the draft stays loaded"]
    count = "one draft forward" if forwards == 1 else f"{forwards} draft forwards"
    why = "which keeps the draft's cache filled, " if forwards == 1 else ""
    return [f"in {_share(skipped, steps)} {count} remained, {why}so this is slower than a server without a draft"]


def _share(part: int, of: int) -> str:
    if part == of:
        return "the only step" if of == 1 else f"all {_steps(of)}"
    return f"{part} of {_steps(of)}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"
