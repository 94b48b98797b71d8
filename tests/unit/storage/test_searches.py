"""What was said is found again, by words that nobody has to quote."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorded import said
from specchat.core.events import Event
from specchat.core.speculation import Channel
from specchat.storage.searching import marked, readable, searchable
from storing import Kept


def thinking(text: str) -> list[Event]:
    return said(text, channel=Channel.REASONING)


def test_prompts_replies_thinking_and_titles_are_looked_through(kept: Kept) -> None:
    session = kept.session(("Where is the lighthouse?", "on the cliff"))
    other = kept.session(("Why?", "because of tides"), events=thinking)
    kept.store.rename(other, "Harbour")
    found = {query: kept.store.search(query) for query in ("lighthouse", "cliff", "tides", "harbour")}
    assert [(hits[0].session, hits[0].turn, hits[0].part) for hits in found.values()] == [
        (session, None, "title"),
        (session, 0, "reply"),
        (other, 0, "thinking"),
        (other, None, "title"),
    ]
    assert [hit.part for hit in found["lighthouse"]] == ["title", "prompt"]


def test_a_hit_says_where_in_its_snippet_the_words_are(kept: Kept) -> None:
    kept.session(("?", "one " * 100 + "then the Needle in it " + "two " * 100))
    (hit,) = kept.store.search("needle")
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["Needle"]
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")


@pytest.mark.parametrize(
    ("said_text", "query"),
    [
        ("Größe und Übermut", "ubermut"),
        ("the naïve café", "CAFE"),
        ("acceptance length", "accep"),
        ("今日は東京で雨が降る", "東京"),
        ("日本語とGPUの話", "GPU"),
        ("ภาษาไทยง่าย", "ไทย"),
        ("don't stop", "don't"),
        ("Привет, мир", "привет"),
        ("say hello there", '"hello there"'),
    ],
)
def test_words_are_found_without_case_accents_or_spaces(kept: Kept, said_text: str, query: str) -> None:
    session = kept.session(("?", said_text))
    kept.session(("?", "nothing of it"))
    assert [hit.session for hit in kept.store.search(query)] == [session]
    assert [line.id for line in kept.store.sessions(query)] == [session]
    (hit,) = kept.store.search(query)
    assert hit.marks
    assert hit.snippet in said_text


def test_a_session_is_listed_if_its_words_are_in_different_turns(kept: Kept) -> None:
    both = kept.session(("apples", "x"), ("y", "pears"))
    kept.session(("apples", "x"))
    assert [line.id for line in kept.store.sessions("pear apple")] == [both]
    assert kept.store.search("pear apple") == []


def test_words_in_quotation_marks_stand_side_by_side(kept: Kept) -> None:
    session = kept.session(("?", "the cat sat"))
    kept.session(("?", "the sat cat"))
    assert [hit.session for hit in kept.store.search('"cat sat"')] == [session]


TYPED = [
    '"',
    '""',
    "*",
    "AND",
    "OR NOT",
    "NEAR(a b, 3)",
    "col:x",
    "a OR",
    "(",
    "-",
    "^x",
    "\0",
    "\ud800",
    "'",
    "{a}: b",
]


@pytest.mark.parametrize("query", [*TYPED, "x" * 5000, "a " * 500], ids=lambda query: ascii(query[:12]))
def test_nothing_that_is_typed_is_a_mistake(kept: Kept, query: str) -> None:
    kept.session(("and or not near", "a b x"))
    kept.store.search(query)
    kept.store.sessions(query)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.text(st.characters(), max_size=20))
def test_no_text_that_is_typed_is_a_mistake(kept: Kept, query: str) -> None:
    kept.store.search(query)
    kept.store.sessions(query)


def test_signs_alone_are_found_nowhere_and_no_words_list_all(kept: Kept) -> None:
    kept.session(("a", "b!"))
    assert kept.store.search("!") == []
    assert kept.store.sessions("!") == []
    assert kept.store.search("  ") == []
    assert len(kept.store.sessions("  ")) == 1


def test_the_latest_hit_comes_first_and_no_more_than_wanted(kept: Kept) -> None:
    sessions = [kept.session(("?", f"same {n}")) for n in range(5)]
    hits = kept.store.search("same", limit=3)
    assert [hit.session for hit in hits] == sessions[:1:-1]


@settings(deadline=None)
@given(st.text(st.characters(), max_size=30))
def test_the_form_that_is_looked_through_loses_only_what_no_column_can_hold(text: str) -> None:
    expected = "".join("\ufffd" if c in "\0\1\2\3" or "\ud800" <= c <= "\udfff" else c for c in text)
    assert readable(searchable(text)) == expected
    searchable(text).encode()


def test_marks_are_places_in_the_text_that_is_shown() -> None:
    assert marked("a \x01日\x03本\x02\x03語 \x01b\x02") == ("a 日本語 b", ((2, 4), (6, 7)))
