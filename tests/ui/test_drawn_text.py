"""What is drawn is the reply's text, each grapheme in the look of the token in which it begins, whatever happens."""

import random
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.style import Style
from textual.strip import Strip

from chat_pilot import Chat, open_chat
from drawn_text import STYLES, Cell, Streamed, asides_in, cells_of, check_cell, check_rows, cut, runs_of
from fakes import Hang, Scripted, ScriptedBackend
from replies import report
from specchat.core.events import StepsTraced, StreamEnded
from specchat.core.reply import Outcome
from specchat.core.speculation import Channel
from specchat.core.trace import TracedStep
from specchat.ui.cursor import Spot, TokenCursor
from specchat.ui.layout.document import Document
from specchat.ui.layout.marks import Mark, Marks
from specchat.ui.panels.characters import spelled
from specchat.ui.proposals import Proposals, bracketed
from specchat.ui.styles import THINKING
from specchat.ui.widgets.painting import RowPainter
from told_replies import turns_of

_ODD = ["漢字", "、", "é", "e\u0301", "👩\u200d👧", "\U0001f1e9\U0001f1ea", "❤\ufe0f", "🏽", "שלום", "مرحبا", "가"]
_ODD += ["\u202e", "\u200b", "\x1b[31m", "\u3000"]
_WORDS = ["a", " word", " another", " longer-than-a-line-is", "  ", "\n", "\n\n", "\t", ".", "\r\n", "    indented"]
_TEXTS = st.lists(st.sampled_from([*_ODD, *_WORDS]), max_size=8).map("".join)
_CHANNELS = st.sampled_from([Channel.CONTENT, Channel.CONTENT, Channel.REASONING])
_CHUNKS = st.tuples(st.just("arrive"), st.tuples(_CHANNELS, _TEXTS, st.lists(st.integers(0, 1000), max_size=3)))
_OTHERS = st.one_of(
    st.tuples(st.just("learn"), st.just(())),
    st.tuples(st.just("resize"), st.tuples(st.integers(4, 40))),
    st.tuples(st.just("find"), st.tuples(st.sampled_from(["a", "wor", " ", "漢", "\u0301", "\u200d", "\ufe0f"]))),
    st.tuples(st.just("point"), st.tuples(st.integers(0, 60))),
    st.tuples(st.just("fold"), st.tuples(st.booleans())),
    st.tuples(st.just("scroll"), st.tuples(st.integers(0, 60))),
    st.tuples(st.just("trace"), st.just(())),
    st.tuples(st.just("trace"), st.just(())),
    st.tuples(st.just("propose"), st.tuples(st.sampled_from(list(Proposals)))),
)
_HAPPENINGS = st.lists(st.one_of(_CHUNKS, _CHUNKS, _OTHERS), min_size=2, max_size=20)
_ENDS = st.sampled_from(["running", "stopped", "finished", "reported"])


WANTED = dict(
    enumerate([" word", "漢字", "\n", "👩\u200d👧", "\u0301", "  ", "longer-than-a-line-is", "מ", "🏽", "\t"], 5000)
)
"""Texts of tokens that a draft proposes in vain."""


def traced_rows(ids: Sequence[int], number: int) -> list[TracedStep]:
    """Rows of the trace for a chunk, from row `number` on; most steps have proposals that are refused."""
    rows = [TracedStep(0, 0.0, 0, (), 0, tuple(ids[:1]))] if ids and not number else []
    kept = tuple(ids[len(rows) :])
    if kept:
        at = number + len(rows)
        wanted = tuple(5000 + (at * 3 + n) % len(WANTED) for n in range(at % 4))
        rows.append(TracedStep(at, 0.1 * at, len(kept) - 1 + len(wanted), (*kept[:-1], *wanted), len(kept) - 1, kept))
    return rows


class Drawing:
    """A reply that grows, drawn as the transcript does it: rows that were drawn are kept until they change."""

    def __init__(self, width: int, k: int | None = 3) -> None:
        self.stream = Streamed(k)
        self.reply = self.stream.reply
        self.document = Document(width)
        self.cursor = TokenCursor(self.document)
        self._turns = turns_of(self.reply)
        self._folded = False
        self._proposals = Proposals.HIDDEN
        self._rows: list[TracedStep] = []
        """Of the hook's trace, all of them."""
        self._told = 0
        self._marks = Marks()
        self._painter = RowPainter(STYLES, lambda _: Style.null())
        self._strips: dict[int, Strip] = {}
        self.update(0)

    # -- what happens ---------------------------------------------------------------------------------------------

    def arrive(self, channel: Channel, text: str, cuts: list[int]) -> None:
        if tokens := cut(text, cuts):
            chunk = self.stream.chunk(channel, tokens)
            self._rows += traced_rows(chunk.token_ids or (), len(self._rows))
            self.update(self.stream.add(chunk))

    def learn(self) -> None:
        self.update(self.stream.add(self.stream.pieces()))

    def trace(self) -> None:
        rows, self._told = self._rows[self._told :], len(self._rows)
        self.update(self.stream.add(StepsTraced(tuple(rows), WANTED)))

    def propose(self, proposals: Proposals) -> None:
        self._proposals = proposals
        self.document.set_view(None, proposals=proposals)
        self.cursor.take(self._turns)
        self._strips.clear()

    def end(self, how: str) -> None:
        if how == "reported":
            steps = max(0, (self.reply.output_tokens or 0) - 1)
            self.stream.add(report([0] * steps, [3] * steps))
        self.update(self.reply.end(Outcome.STOPPED if how == "stopped" else Outcome.FINISHED))

    def resize(self, width: int) -> None:
        self.document.resize(width)
        self._strips.clear()

    def fold(self, folded: bool) -> None:
        self._folded = folded
        self.document.set_view(None, folded=folded)
        self.cursor.take(self._turns)
        self._strips.clear()

    def find(self, text: str) -> None:
        found = {}
        for part in self.document.parts():
            places = [at for at in range(len(part.text)) if part.text.startswith(text, at)]
            found[part.block] = [Mark(at, at + len(text), "mark-find") for at in places[:: len(text)]]
        self._mark("find", found)

    def point(self, token: int) -> None:
        self.cursor.go_to(Spot(0, token))
        place = self.cursor.place()
        self._mark("cursor", {} if place is None else {place.block: [Mark(place.start, place.end, "mark-cursor")]})

    def scroll(self, top: int) -> None:
        for row in range(top, min(top + 10, self.document.height)):
            self._strip(row)

    def update(self, first: int | None) -> None:
        changed = self.document.update(self._turns, len(self.reply.tokens) if first is None else first)
        self.cursor.take(self._turns)
        self._strips = {row: strip for row, strip in self._strips.items() if row < changed}

    # -- what is drawn --------------------------------------------------------------------------------------------

    def check(self) -> None:
        by_block: dict[int, list[list[Cell]]] = {}
        for row in range(self.document.height):
            strip = self._strip(row)
            assert strip == self._paint(row)
            assert strip.cell_length == self.document.width + 3
            found = self.document.row_of(*self.document.place_of(row))
            assert found == row or (found > row and not any(cells_of(self._strip(at)) for at in range(row, found)))
            if cells := cells_of(strip):
                by_block.setdefault(self.document.row(row).block, []).append(cells)
        assert list(by_block) == sorted(by_block)
        drawn = [rows for rows in by_block.values() if any(cell.text.strip() for cells in rows for cell in cells)]
        runs = [(text, looks) for text, looks in runs_of(self.reply) if text.strip()]
        shown = [run for run in runs if not (self._folded and run[1][0].startswith(THINKING))]
        assert len(drawn) == len(shown)
        for rows, (text, looks) in zip(drawn, shown, strict=True):
            check_rows(rows, text, looks)
        self._check_proposals()

    def _check_proposals(self) -> None:
        """What was refused is drawn once, before what stands behind its place, and nothing else is drawn."""
        drawn = ""
        for row in range(self.document.height):
            asides, cells = asides_in(self._strip(row)), cells_of(self._strip(row))
            drawn += "".join(cell.text for cell in asides)
            for aside in asides:
                assert [cell.offset >= aside.offset for cell in cells] == sorted(
                    cell.offset >= aside.offset for cell in cells
                )
        if not self._folded:
            expected = "".join(self._expected())
            assert drawn.replace(" ", "") == expected.replace(" ", "")

    def _expected(self) -> list[str]:
        trace = self.reply.trace
        if self._proposals is Proposals.HIDDEN or trace is None or not self.reply.is_traced:
            return []
        rejected = [row.proposed[row.accepted :] for row in trace.rows if row.proposed and row.emitted[row.accepted :]]
        if self._proposals is Proposals.COUNT:
            return [bracketed(str(len(ids))) for ids in rejected if ids]
        texts = ["".join(WANTED[token] for token in ids) for ids in rejected if ids]
        return [bracketed(spelled(text).replace("␣", " " if text.strip(" ") else "␣")) for text in texts]

    def _mark(self, layer: str, marks: dict[int, list[Mark]]) -> None:
        if self._marks.set(layer, marks):
            self._strips.clear()

    def _strip(self, row: int) -> Strip:
        if row not in self._strips:
            self._strips[row] = self._paint(row)
        return self._strips[row]

    def _paint(self, index: int) -> Strip:
        row = self.document.row(index)
        start = row.spans[0].offset if row.spans else row.end
        marks = self._marks.within(row.block, start, row.end + row.broken)
        return self._painter.paint(row, self.document.width + 3, Style(), marks)


@given(_HAPPENINGS, st.integers(4, 40), st.sampled_from([None, 0, 3]), _ENDS)
@settings(max_examples=300, deadline=None)
def test_any_sequence_leaves_the_text_and_the_origins_drawn(
    happenings: list[tuple[str, tuple[object, ...]]], width: int, k: int | None, end: str
) -> None:
    drawing = Drawing(width, k)
    for name, arguments in happenings:
        getattr(drawing, name)(*arguments)
        drawing.check()
    if end != "running":
        drawing.end(end)
        drawing.check()

        assert drawing.reply.text == drawing.stream.text


@given(
    st.lists(st.tuples(st.one_of(_CHUNKS, _CHUNKS, _CHUNKS, _OTHERS), st.booleans()), min_size=4, max_size=24),
    st.integers(4, 40),
    st.sampled_from([Proposals.COUNT, Proposals.SHOWN]),
)
@settings(max_examples=300, deadline=None)
def test_refused_proposals_are_drawn_at_their_places_and_leave_the_text_as_it_is(
    happenings: list[tuple[tuple[str, tuple[object, ...]], bool]], width: int, proposals: Proposals
) -> None:
    drawing = Drawing(width)
    drawing.propose(proposals)
    for (name, arguments), traces in happenings:
        getattr(drawing, name)(*arguments)
        if traces:
            drawing.trace()
        drawing.check()
    drawing.trace()
    drawing.learn()
    drawing.learn()
    drawing.check()
    drawing.end("finished")
    drawing.check()


@given(st.lists(_TEXTS, max_size=6), st.integers(4, 40), st.data())
@settings(max_examples=60, deadline=None)
def test_the_cursor_visits_every_token_that_begins_a_drawn_character(
    texts: list[str], width: int, data: st.DataObject
) -> None:
    drawing = Drawing(width)
    for text in texts:
        drawing.arrive(Channel.CONTENT, text, data.draw(st.lists(st.integers(0, 1000), max_size=3)))
        drawing.learn()
        drawing.learn()
    if not drawing.reply.text.strip():
        return
    drawing.cursor.enter(0, drawing.document.height)
    drawing.cursor.move("beginning")
    visited = [drawing.cursor.spot]
    while drawing.cursor.move("next-token"):
        visited.append(drawing.cursor.spot)

    assert visited == [Spot(0, index) for index, token in enumerate(drawing.reply.tokens) if token.text]


# -- in the chat ------------------------------------------------------------------------------------------------------


def check_sight(chat: Chat) -> None:
    """All that is in sight is a stretch of the text in its looks."""
    transcript = chat.screen.transcript
    ((text, looks),) = runs_of(chat.session.conversation.turns[-1].reply)
    assert any(part.text == text for part in transcript.document.parts())
    for y in range(transcript.size.height):
        for cell in cells_of(transcript.render_line(y)):
            check_cell(cell, text, looks)


def is_right(chat: Chat) -> bool:
    try:
        check_sight(chat)
    except AssertionError:
        return False
    return True


def script_of(rng: random.Random, chunks: int) -> tuple[list[Scripted], list[tuple[int, Hang]], dict[int, str], str]:
    """A stream that stands still behind each few chunks, (tokens so far, where); tokens are whole characters."""
    stream = Streamed()
    events: list[Scripted] = []
    hangs: list[tuple[int, Hang]] = []
    pieces: dict[int, str] = {}
    for number in range(chunks):
        words = [rng.choice([*_WORDS, *_WORDS, *_ODD]) for _ in range(rng.randint(1, 4))]
        pieces |= {len(pieces) + index: word for index, word in enumerate(words)}
        events.append(stream.chunk(Channel.CONTENT, [word.encode() for word in words]))
        if number % 12 == 11:
            hangs.append((len(pieces), Hang()))
            events.append(hangs[-1][1])
    return [*events, StreamEnded(99.0, done=True)], hangs, pieces, stream.text


async def happen(chat: Chat, rng: random.Random) -> None:
    """Something that a reader or a terminal does."""
    transcript = chat.screen.transcript
    match rng.randrange(5):
        case 0:
            await chat.pilot.resize_terminal(rng.randint(30, 140), rng.randint(14, 40))
        case 1:
            transcript.action_page(rng.choice([-2, -1, 1]))
        case 2:
            block = next(part.block for part in transcript.document.parts() if "word" in part.text)
            transcript.set_marks("find", {block: [Mark(at, at + 2, "mark-find") for at in range(0, 40, 4)]})
        case 3:
            await chat.pilot.press("f7", *rng.choice([["left"] * 3, ["up"] * 4, ["r"], ["home"]]), "f7")
        case 4:
            transcript.follow()
    await chat.pilot.pause()


@pytest.mark.parametrize("seed", range(4))
async def test_the_chat_draws_the_text_through_resizes_scrolls_finds_and_a_stop(seed: int) -> None:
    rng = random.Random(seed)
    events, hangs, pieces, text = script_of(rng, 120)
    async with open_chat(ScriptedBackend(events, pieces=pieces), size=(60, 20)) as chat:
        transcript = chat.screen.transcript
        transcript.set_token_styles(STYLES)
        await chat.type("Go")
        await chat.pilot.press("enter")
        for tokens, hang in hangs:
            await chat.until(partial(has_shown, chat, tokens))
            await happen(chat, rng)
            # Texts of tokens may have come that the next frame shows.
            with suppress(TimeoutError):
                await chat.until(partial(is_right, chat))
            check_sight(chat)
            if hang is hangs[-1][1]:
                await chat.pilot.press("escape")
            hang.released.set()
        await chat.ended()

        reply = chat.session.conversation.turns[-1].reply
        assert reply.outcome is Outcome.STOPPED
        assert reply.text
        assert text.startswith(reply.text)
        rows: list[list[Cell]] = []
        for row in range(transcript.document.height):
            transcript.scroll_to(y=row, animate=False, immediate=True)
            rows.append(cells_of(transcript.render_line(row - transcript.scroll_offset.y)))
        ((shown, looks),) = runs_of(reply)
        check_rows(rows, shown, looks)


def has_shown(chat: Chat, count: int) -> bool:
    """Are so many tokens laid out?"""
    document = chat.screen.transcript.document
    shown = (tokens for turn in range(len(document.turns)) for tokens in document.shown_tokens(turn))
    return any(tokens.stop >= count for tokens in shown)
