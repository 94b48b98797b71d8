"""Finding: the offsets are those of the original text, whatever upper and lower case are made of."""

import time

from hypothesis import example, given, settings
from hypothesis import strategies as st

from specchat.ui.finding import FIND, FOUND, Finder, Folded
from specchat.ui.layout.parts import HeadingPart, TextPart

_TEXTS = st.text(st.sampled_from("aAsSßẞ\u0131İiI\u0307ŉŋΐ ﬁf漢\n"), max_size=20)
_NEEDLES = st.text(st.sampled_from("asß\u0131i\u0307ŉ fﬁ漢"), min_size=1, max_size=3)


def naive(text: str, needle: str) -> list[tuple[int, int]]:
    found, at = [], 0
    while at < len(text):
        ends = range(at + 1, len(text) + 1)
        end = next((end for end in ends if text[at:end].casefold() == needle.casefold()), None)
        if end is None:
            at += 1
        else:
            found.append((at, end))
            at = end
    return found


def part(block: int, *pieces: str, width: int = 40) -> TextPart:
    made = TextPart(block, width, indent=0)
    made.replace(0, list(pieces))
    return made


def spans(finder: Finder) -> list[tuple[int, int, int, str]]:
    marks = finder.marks().items()
    return [(block, mark.start, mark.end, mark.style) for block, of_block in marks for mark in of_block]


@example(text="Straße", needle="s")
@example(text="STRASSE straße", needle="ß")
@example(text="İi", needle="i")
@given(_TEXTS, _NEEDLES)
@settings(max_examples=1000, deadline=None)
def test_matches_are_those_of_a_naive_search(text: str, needle: str) -> None:
    assert Folded(text).find(needle.casefold()) == naive(text, needle)


def test_a_match_runs_across_tokens_and_wraps() -> None:
    finder = Finder()
    finder.search("verification", [part(1, "spec", "ulative veri", "fica", "tion", width=10)])

    assert spans(finder) == [(1, 12, 24, FIND)]


def test_case_counts_where_the_needle_has_a_capital() -> None:
    finder = Finder()
    parts = [part(1, "Draft and draft")]
    finder.search("draft", parts)
    assert finder.count == 2
    finder.search("Draft", parts)
    assert finder.count == 1


def test_headings_are_not_searched() -> None:
    finder = Finder()
    finder.search("assistant", [HeadingPart(1, "Assistant", "assistant"), part(2, "an assistant")])

    assert [match[0] for match in spans(finder)] == [2]


def test_steps_go_round_and_say_so() -> None:
    finder = Finder()
    finder.search("a", [part(1, "a b a"), part(4, "a")])
    finder.go_near(1, 1)
    assert (finder.current, finder.match) == (1, (1, 4, 5))
    assert [finder.step(1), finder.current] == [False, 2]
    assert [finder.step(1), finder.current] == [True, 0]
    assert [finder.step(-1), finder.current] == [True, 2]
    assert spans(finder)[-1] == (4, 0, 1, FOUND)


def test_the_nearest_match_behind_a_place_comes_first_and_the_first_of_all_behind_the_last() -> None:
    finder = Finder()
    finder.search("a", [part(1, "a"), part(3, "a a")])
    finder.go_near(2, 7)
    assert finder.match == (3, 0, 1)
    finder.go_near(3, 1)
    assert finder.match == (3, 2, 3)
    finder.go_near(3, 3)
    assert finder.match == (1, 0, 1)


def test_growth_leaves_the_reader_at_his_match() -> None:
    finder = Finder()
    growing = part(1, "one two one")
    finder.search("one", [growing])
    finder.go_near(1, 5)
    growing.replace(1, [" and one"])
    assert finder.search("one", [growing])
    assert (finder.count, finder.match) == (3, (1, 8, 11))
    assert not finder.search("one", [growing])


def test_nothing_is_found_of_nothing() -> None:
    finder = Finder()
    finder.search("", [part(1, "text")])
    finder.go_near(1, 0)

    assert (finder.count, finder.match, finder.step(1), finder.marks()) == (0, None, False, {})


def test_a_keystroke_over_a_hundred_thousand_tokens_is_quick() -> None:
    finder = Finder()
    parts = [part(number, "Straße and a word of text, " * 800) for number in range(20)]
    finder.search("w", parts)
    times = []
    for needle in ("wo", "wor", "word"):
        start = time.process_time()
        finder.search(needle, parts)
        finder.go_near(0, 0)
        finder.marks()
        times.append(time.process_time() - start)

    assert finder.count == 16_000
    assert min(times) < 0.2  # a bound for any machine; 0.03 s is usual
