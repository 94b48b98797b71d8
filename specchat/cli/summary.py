"""The lines that say, after a reply, what it was: plain text, one line each."""

from specchat.core.conversation import Turn
from specchat.core.counters import Verdict
from specchat.core.errors import SpecchatError
from specchat.core.harmless import one_line
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import ReplyFigures, figures_of
from specchat.core.speculation import Evidence
from specchat.core.switch_meaning import meaning_of

_CUTS = {"length": ", cut by max tokens", "content_filter": ", cut by a content filter"}
_EVIDENCE = {
    Evidence.TRACED: "traced by the server hook",
    Evidence.REPORTED: "reported by the server",
    Evidence.INFERRED: "inferred from chunks",
}


def summary_line(turn: Turn) -> str:
    """One line with the figures of a reply; what is not known is left out, never shown as 0."""
    reply, figures = turn.reply, figures_of(turn.reply)
    parts = [_count(figures, reply)]
    if figures.tokens_per_second is not None:
        parts.append(f"{figures.tokens_per_second:.1f} tokens/s")
    if figures.time_to_first_token_s is not None:
        parts.append(f"first token {figures.time_to_first_token_s * 1000:.0f} ms")
    parts.append(_speculation(turn, figures))
    if figures.live_guess_accuracy is not None:
        parts.append(f"{figures.live_guess_accuracy:.0%} of live colours right")
    if reply.check is not None and reply.check.verdict is not Verdict.UNAVAILABLE and reply.live.steps:
        parts.append(reply.check.sentence)
    if reply.model:
        parts.append(one_line(reply.model, 80))
    return " · ".join(part for part in parts if part)


def note_lines(turn: Turn, *, proposals: bool = False) -> list[str]:
    """What else the reader should know, a line each.

    Args:
        turn: Ended.
        proposals: Were rejected proposals asked for?
    """
    reply, meaning = turn.reply, meaning_of(turn.reply, turn.server)
    lines = [f"note: {one_line(note)}" for note in reply.notes]
    if meaning is not None and reply.has_ids:
        lines.append(f"note: speculation {one_line(meaning.sentence)}")
    if proposals and reply.has_ids and not any(step.proposed is not None for step in reply.steps):
        lines.append(f"note: {_no_proposals(turn)}")
    lines += [f"tool call: {one_line(f'{call.name}({call.arguments})')}" for call in reply.tool_calls.values()]
    if reply.reasoning:
        lines.append(f"note: the reply holds {len(reply.reasoning)} characters of thinking; --json shows them")
    return lines


def _no_proposals(turn: Turn) -> str:
    if turn.reply.speculation.is_off:
        return "there are no proposals to show, since speculation was off"
    if turn.server.hook is None:
        return "there are no proposals to show: this server has no specchat hook, which alone tells them"
    return "there are no proposals to show: the server's hook told none for this reply"


def failure_line(error: SpecchatError) -> str:
    """The sentence for a failure."""
    return f"specchat: {one_line(str(error), 900)}"


def _count(figures: ReplyFigures, reply: Reply) -> str:
    end = {Outcome.STOPPED: ", stopped", Outcome.FAILED: ", broken off"}.get(reply.outcome, "")
    end = end or _CUTS.get(reply.finish_reason or "", "")
    if figures.output_tokens is None:
        return f"token count unknown{end}"
    return f"{figures.output_tokens} token{'s' * (figures.output_tokens != 1)}{end}"


def _speculation(turn: Turn, figures: ReplyFigures) -> str:
    if figures.acceptance_length is None:
        if turn.reply.speculation.is_off:
            return "speculation off"
        if turn.server.speculates is False:
            return "no speculation"
        if turn.reply.live.merges_proven or (turn.reply.check and turn.reply.check.verdict is Verdict.DIFFERS):
            return "acceptance length unknown: chunks were merged"
        return "acceptance length unknown"
    source = _EVIDENCE.get(Evidence(figures.evidence["acceptance_length"]), "")
    rate = "" if figures.acceptance_rate is None else f", {figures.acceptance_rate:.0%} accepted"
    warning = "; nothing was accepted: is it the right draft?" if figures.accepted == 0 and figures.steps else ""
    steps = "1 step" if figures.steps == 1 else f"{figures.steps} steps"
    limit = turn.reply.speculation.limit
    most = "" if limit is None else f" of at most {limit} proposal{'s' * (limit != 1)}"
    return f"acceptance length {figures.acceptance_length:.2f} in {steps}{most}{rate} ({source}{warning})"
