"""One reply as a JSON object: the schema that `ask --json` and every export share. See docs/reply-schema.md."""

from dataclasses import asdict

from specchat.core.conversation import Turn
from specchat.core.counters import CounterReading
from specchat.core.figures import acceptance_rate
from specchat.core.reply import Reply
from specchat.core.reply_figures import figures_of
from specchat.core.server import Hook, ServerInfo
from specchat.core.speculation import Step
from specchat.core.switch_meaning import meaning_of

SCHEMA = "specchat.reply/1"
"""Name and version of the schema: a change that readers must know of raises the number."""


def reply_object(turn: Turn) -> dict[str, object]:
    """The whole of a turn, ready for `json.dumps`. Holds no key and no header."""
    reply = turn.reply
    figures = asdict(figures_of(reply))
    evidence = figures.pop("evidence")
    return {
        "schema": SCHEMA,
        "text": reply.text,
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "error": _error(reply),
        "outcome": str(reply.outcome),
        "model": reply.model,
        "server": server_object(turn.server),
        "replaced": turn.replaced,
        "continues": turn.continues,
        "request": {"prompt": turn.prompt, **turn.request, "id": reply.request_id, "speculating": reply.speculating},
        "tokens": [
            {
                "id": token.id,
                "text": token.text,
                "channel": str(token.channel),
                "origin": str(token.label.origin),
                "position": token.label.position,
                "step": token.label.step,
                "evidence": str(token.label.evidence),
            }
            for token in reply.tokens
        ],
        "steps": _steps(reply),
        "trace": _trace(reply),
        "speculation": _speculation(turn),
        "stats": figures,
        "evidence": evidence,
        "reported": _reported(reply),
        "check": _check(reply),
        "tool_calls": [asdict(call) for _, call in sorted(reply.tool_calls.items())],
        "text_matches_ids": reply.aligner.matches if reply.aligner.by_token else None,
        "stop_reason": reply.stop_reason,
        "notes": list(reply.notes),
    }


def server_object(server: ServerInfo) -> dict[str, object]:
    """What the server said about itself."""
    counters = server.counters
    return {
        "url": server.url,
        "version": server.version,
        "model": server.model,
        "max_model_len": server.max_model_len,
        "speculates": server.speculates,
        "draft_length": server.draft_length,
        "counters": None if counters is None else counters_object(counters),
        "hook": None if server.hook is None else hook_object(server.hook),
        "gaps": list(server.gaps),
    }


def hook_object(hook: Hook) -> dict[str, object]:
    """What the hook in the server said of itself."""
    return {**asdict(hook), "problems": list(hook.problems)}


def counters_object(reading: CounterReading) -> dict[str, object]:
    """A reading of the server's counters since its start, with the figures that follow: all clients together."""
    counts = reading.counts
    accepted, drafted = reading.accepted, reading.drafted
    return {
        "num_drafts": reading.drafts,
        "num_draft_tokens": reading.drafted,
        "num_accepted_tokens": reading.accepted,
        "acceptance_length": counts and counts.acceptance_length,
        "acceptance_rate": None if None in (accepted, drafted) else acceptance_rate(accepted or 0, drafted or 0),
        "per_position_rate": counts and counts.per_position_rate,
        "requests_running": reading.running,
        "requests_waiting": reading.waiting,
    }


def _steps(reply: Reply) -> list[dict[str, object]]:
    # Row i + 1 of a trace is of step i; the prefill has row 0.
    rows = reply.trace.rows[1:] if reply.is_traced and reply.trace is not None else []
    return [
        {
            **_step(reply, step),
            "t": rows[i].at if i < len(rows) else None,
            "width": rows[i].width if i < len(rows) else None,
            "graph": rows[i].graph if i < len(rows) else None,
        }
        for i, step in enumerate(reply.steps)
    ]


def _step(reply: Reply, step: Step) -> dict[str, object]:
    proposed = step.proposed
    return {
        "drafted": step.drafted,
        "accepted": step.accepted,
        "emitted": step.emitted,
        "evidence": str(step.evidence),
        "proposed": None
        if proposed is None
        else [{"id": token_id, "text": reply.text_of_proposal(token_id)} for token_id in proposed],
    }


def _trace(reply: Reply) -> dict[str, object] | None:
    """How the hook's trace of the reply went; None where nothing of one came."""
    if reply.trace is None:
        return None
    ended = reply.trace_ended
    return {
        "used": reply.is_traced,
        "covered": reply.trace.covered,
        "end": None if ended is None else ended.reason,
        "beyond": [_step(reply, step) for step in reply.trace.beyond],
    }


def _speculation(turn: Turn) -> dict[str, object]:
    """What was asked for, and what it turned out to be."""
    asked, meant = turn.reply.speculation, meaning_of(turn.reply, turn.server)
    return {
        "limit": asked.limit,
        "way": None if asked.way is None else str(asked.way),
        "meant": meant and meant.sentence,
        "is_true_baseline": meant and meant.is_true_baseline,
        "obeyed": meant and meant.obeyed,
        "steps": meant and meant.steps,
        "proposing": meant and meant.proposing,
        "drafting_skipped": meant and meant.drafting_skipped,
        "drafted_for_others": meant and meant.drafted_for_others,
        "graphs": None if meant is None or meant.steps is None else dict(meant.graphs),
    }


def _error(reply: Reply) -> dict[str, object] | None:
    if reply.error is None:
        return None
    kind = type(reply.error).__name__
    return {"kind": kind, "message": reply.error.message, "hint": reply.error.hint}


def _reported(reply: Reply) -> dict[str, object]:
    """What the server itself said, in its own words where it has them."""
    return {
        "usage": None if reply.usage is None else asdict(reply.usage),
        "speculative_decoding": None if reply.reported is None else asdict(reply.reported),
        "timing": None if reply.server_timing is None else asdict(reply.server_timing),
    }


def _check(reply: Reply) -> dict[str, object] | None:
    if reply.check is None:
        return None
    check = asdict(reply.check)
    return {**check, "verdict": str(reply.check.verdict)}
