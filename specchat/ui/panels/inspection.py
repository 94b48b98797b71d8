"""Everything that is known of one token, in lines. A function of the reply; draws no widget and reads no clock."""

from dataclasses import dataclass

from rich.cells import cell_len

from specchat.core.pieces import PARTIAL
from specchat.core.reply import Reply
from specchat.core.speculation import Channel, Evidence, Origin, Step, Token
from specchat.ui.cursor import tokens_of_step
from specchat.ui.panels.characters import bytes_of, names_of, spelled
from specchat.ui.panels.drawing import BETWEEN, EdgeLine, Line, Run, fit, line
from specchat.ui.proposals import ABANDONED, COUNT, LEFT, REJECTED, RIGHT, bracketed, word_of
from specchat.ui.styles import MARK, style_of
from specchat.ui.token_keys import MOVES

FEWEST, MOST = 4, 6
"""Lines."""
_LONGEST = 60
"""Characters of one token that are spelled out."""
_LONGEST_STEP = 12
"""Characters of each token where a step is shown."""
_CHANNELS = {Channel.REASONING: "thinking", Channel.TOOL: "tool call"}
_EVIDENCE = {
    Evidence.TRACED: ("exact, traced", ": the server hook saw it"),
    Evidence.REPORTED: ("exact", ", reported by the server"),
    Evidence.INFERRED: ("inferred", " from the size of its chunk"),
}
"""In a word, and what follows where there is room."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the inspector shows."""

    title: str
    lines: tuple[Line, ...]


def inspect(reply: Reply, index: int, width: int, rows: int) -> Inspection:
    """Say what is known of a token.

    Args:
        reply: As it stands.
        index: Of the token, in the reply's tokens.
        width: Cells in a line.
        rows: Lines to fill, FEWEST to MOST; fewer lines leave out what the transcript shows as well.
    """
    tokens = reply.tokens
    token = tokens[index]
    parts = _parts_of_character(reply, index)
    characters = _character_runs(token, [tokens[part] for part in parts])
    roomy = rows >= MOST
    lines = [
        _edges([*_text_runs(token), *([] if roomy else characters)], width),
        _edges(_origin_runs(reply, index), width),
        _edges(_step_runs(reply, index), width),
    ]
    if rows > FEWEST:
        lines.append(_edges(_side_by_side(reply, index), width))
    if roomy:
        first, look = characters[0]
        lines.append(_edges([(first.removeprefix(BETWEEN), look), *characters[1:]], width))
    lines.append(_edges(_key_runs(width), width))
    return Inspection(_title(reply, index), tuple(lines))


def _edges(runs: list[Run], width: int) -> Line:
    """As many of the runs as there is room for, set in by one cell."""
    shown = fit(EdgeLine(tuple(runs)), max(1, width - 1))
    return line((" ", ""), *shown.runs)


def _title(reply: Reply, index: int) -> str:
    ordinal = reply.ordinal_of(index)
    if ordinal is None:
        return f"Text {index + 1} of {len(reply.tokens)}, without a token id"
    return f"Token {ordinal + 1}" if reply.is_running else f"Token {ordinal + 1} of {reply.output_tokens}"


def _text_runs(token: Token) -> list[Run]:
    shown = spelled(token.text[:_LONGEST]) + ("…" if len(token.text) > _LONGEST else "")
    runs: list[Run] = [(f" {shown} ", f"{_look(token)} {MARK}cursor")]
    runs.append((f"  id {token.id}", "strong") if token.id is not None else ("  the server sends no token ids", "dim"))
    if token.channel in _CHANNELS:
        runs.append((f"{BETWEEN}{_CHANNELS[token.channel]}", "dim"))
    return runs


def _look(token: Token) -> str:
    return style_of(token.label, thinking=token.channel is Channel.REASONING)


# -- characters -------------------------------------------------------------------------------------------------------


def _parts_of_character(reply: Reply, index: int) -> list[int]:
    """The tokens that a character spans which begins in this one; empty where the token holds whole characters."""
    tokens, at = reply.tokens, index
    while at < len(tokens) and _is_partial(reply, tokens[at]) and (at == index or not tokens[at].text):
        at += 1
    return list(range(index, at)) if at - index > 1 else []


def _is_partial(reply: Reply, token: Token) -> bool:
    piece = None if token.id is None else reply.aligner.piece_of(token.id)
    return piece is not None and PARTIAL in piece


def _character_runs(token: Token, parts: list[Token]) -> list[Run]:
    names: list[Run] = [(BETWEEN + name, "") for name in names_of(token.text)]
    if parts:
        ids: list[Run] = [(f" {part.id} ", _look(part)) for part in parts]
        spans: Run = (f"{BETWEEN}bytes {bytes_of(token.text)} in {len(parts)} tokens:", "dim")
        return [*names[:1], spans, *ids]
    if not names:
        count = len(token.text)
        return [(f"{BETWEEN}{count} plain character{'' if count == 1 else 's'}", "dim")]
    return names


# -- origin -----------------------------------------------------------------------------------------------------------


def _origin_runs(reply: Reply, index: int) -> list[Run]:
    token = reply.tokens[index]
    runs: list[Run] = [("■ ", _look(token)), (_origin_words(reply, token), "")]
    word, more = _EVIDENCE.get(token.label.evidence, ("", ""))
    return [*runs, (BETWEEN + word, "dim"), (more, "dim")] if word else runs


def _origin_words(reply: Reply, token: Token) -> str:
    label, step = token.label, _step_of(reply, token)
    drafted = None if step is None else step.drafted
    match label.origin:
        case Origin.PREFILL:
            return "the target's first word, from reading the prompt"
        case Origin.ACCEPTED:
            return f"draft position {label.position}{'' if drafted is None else f' of {drafted}'}, kept by the target"
        case Origin.CORRECTION:
            return _correction_words(reply, step)
        case Origin.BONUS:
            return f"the target's extra word: {'the proposal' if drafted == 1 else f'all {drafted} proposals'} held"
        case Origin.PLAIN:
            off = ": speculation was off" if reply.speculation.is_off else ""
            return f"the target's word: nothing was drafted in this step{off}"
        case Origin.UNKNOWN:
            return f"origin unknown: {_why_unknown(reply, token)}"


def _correction_words(reply: Reply, step: Step | None) -> str:
    if step is None:
        return "the target's own word: it rejected a proposal"
    if not step.rejected:
        return f"the target's own word: it rejected draft position {step.accepted + 1}"
    return f"the target's own word: the draft wanted {_wanted(reply, step.rejected[0])} at position {step.accepted + 1}"


def _why_unknown(reply: Reply, token: Token) -> str:
    if token.id is None:
        return "text without a token id"
    if reply.steps_are_reported:
        return "the server's report leaves it open"
    if token.label.step is not None:
        return "how many tokens were drafted is not known"
    return "its chunk held more than one step"


def _step_of(reply: Reply, token: Token) -> Step | None:
    number = token.label.step
    return reply.steps[number] if number is not None and number < len(reply.steps) else None


# -- step and time ----------------------------------------------------------------------------------------------------


def _step_runs(reply: Reply, index: int) -> list[Run]:
    token = reply.tokens[index]
    step = _step_of(reply, token)
    runs: list[Run] = []
    if step is not None and token.label.step is not None:
        drafted = "drafted —" if step.drafted is None else f"drafted {step.drafted}"
        runs += [
            (f"step {token.label.step + 1}", "strong"),
            (f"{BETWEEN}{drafted}, kept {step.accepted}, emitted {step.emitted}", ""),
        ]
    elif token.label.origin is Origin.PREFILL:
        runs.append(("prefill", "strong"))
    else:
        runs.append(("step unknown", "strong"))
    return [*runs, *_time_runs(reply, index)]


def _time_runs(reply: Reply, index: int) -> list[Run]:
    """When the token's step came, after the one before; nothing where that is not known."""
    ordinal = reply.ordinal_of(index)
    if ordinal is None:
        return []
    chunk, times = reply.live.chunk_of(ordinal), reply.clock.chunk_times
    since = times[chunk] - (times[chunk - 1] if chunk else reply.sent_at)
    others = _steps_in_chunk(reply, index, ordinal, chunk) - 1
    if chunk == 0:
        after = " after the prompt was sent"
    elif others == 0:
        after = " after the step before"
    elif others > 0:
        after = f" after the chunk before, in one chunk with {others} other step{'s' if others > 1 else ''}"
    else:
        after = f" after the chunk before, in a chunk of {reply.live.chunk_sizes[chunk]} tokens of several steps"
    return [(BETWEEN + _seconds(since), "dim"), (after, "dim")]


def _steps_in_chunk(reply: Reply, index: int, ordinal: int, chunk: int) -> int:
    """How many steps the chunk held; 0 where that cannot be told."""
    size, end = reply.live.chunk_sizes[chunk], reply.live.chunk_ends[chunk]
    around = reply.tokens[max(0, index - (ordinal - (end - size))) : index + (end - ordinal)]
    steps = {token.label.step for token in around if token.id is not None}
    return 0 if None in steps else len(steps)


def _seconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"


# -- the step's tokens ------------------------------------------------------------------------------------------------


def _side_by_side(reply: Reply, index: int) -> list[Run]:
    """The tokens of the step in order, and how many proposals were rejected before the target's own word."""
    tokens = reply.tokens
    step = _step_of(reply, tokens[index])
    if step is None:
        is_first = tokens[index].label.origin is Origin.PREFILL
        return [("before the first step" if is_first else "the other tokens of its step are not known", "dim")]
    runs: list[Run] = []
    rejected = 0 if step.drafted is None else step.drafted - step.accepted
    for at in tokens_of_step(reply, index):
        token = tokens[at]
        accepted = token.label.origin is Origin.ACCEPTED
        if rejected and not accepted:
            runs += _rejected_runs(reply, step) or [(f"  ✗ {rejected} rejected", "bad")]
        looks = f"{_look(token)} {MARK}cursor" if at == index else _look(token)
        runs += [(f"  {token.label.position if accepted else 'target'} ", "dim"), (_short(reply, token), looks)]
    cut = step.accepted - step.emitted
    return [*runs, (f"  {cut} more kept past the end", "dim")] if cut > 0 else runs


def _rejected_runs(reply: Reply, step: Step) -> list[Run]:
    """The proposals that were not kept, each with its position; none where no trace tells them."""
    runs: list[Run] = []
    for number, wanted in enumerate(step.rejected):
        look, edge = (ABANDONED, "dim") if number else (REJECTED, COUNT)
        shown = _cut(spelled(word_of(reply, wanted)))
        runs += [(f"  {step.accepted + number + 1} ", "dim"), (LEFT, edge), (shown, look), (RIGHT, edge)]
    return runs


def _wanted(reply: Reply, token_id: int) -> str:
    return bracketed(_cut(spelled(word_of(reply, token_id))))


def _cut(shown: str) -> str:
    return shown if cell_len(shown) <= _LONGEST_STEP else shown[: _LONGEST_STEP - 1] + "…"


def _short(reply: Reply, token: Token) -> str:
    if token.text:
        return _cut(spelled(token.text))
    return "⟨part of the character before⟩" if _is_partial(reply, token) else "⟨no text⟩"


def _key_runs(width: int) -> list[Run]:
    """As many keys as fit, each with its word."""
    keys = [("Esc", "back"), *((key.keys, key.short) for key in MOVES if key.short)]
    keys += [("Shift", "selects"), ("c", "copies")]
    runs: list[Run] = []
    used = 0
    for number, (key, word) in enumerate(keys):
        shown = [("  " * (number > 0) + key, "strong"), (f" {word}", "dim")]
        used += sum(cell_len(text) for text, _ in shown)
        if used > width - 2:
            break
        runs += shown
    return runs
