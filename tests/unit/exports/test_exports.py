"""Replies as JSON and CSV."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replies import chunk, replied, report
from specchat.core.conversation import Conversation, Turn
from specchat.core.errors import ConfigurationError, StreamBroken
from specchat.core.reply import Outcome, Reply
from specchat.core.server import ServerInfo
from specchat.exports import SCHEMA, reply_object, write_session
from specchat.exports.session_files import session_csv

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def turn(reply: Reply, prompt: str = "p") -> Turn:
    return Turn(prompt, reply, ServerInfo("http://h:1", "0.32.0", model="m", draft_length=3), {"temperature": 0})


EXACT = replied(chunk(1.0, "A", 1), chunk(2.0, "bcde", 2, 3, 4, 5, finish_reason="stop"), report([3], [3]))


def test_the_object_has_every_promised_key() -> None:
    exported = reply_object(turn(EXACT))
    assert exported["schema"] == SCHEMA == "specchat.reply/1"
    assert {
        "schema", "text", "reasoning", "finish_reason", "error", "model", "server", "request", "tokens", "steps",
        "stats", "evidence", "reported",
    } <= exported.keys()  # fmt: skip
    tokens = exported["tokens"]
    assert isinstance(tokens, list)
    assert tokens[1].keys() == {"id", "text", "channel", "origin", "position", "step", "evidence"}
    untold = {"proposed": None, "t": None, "width": None, "graph": None}
    assert exported["steps"] == [{"drafted": 3, "accepted": 3, "emitted": 4, "evidence": "reported"} | untold]
    stats, evidence = exported["stats"], exported["evidence"]
    assert isinstance(stats, dict)
    assert isinstance(evidence, dict)
    assert stats.keys() == evidence.keys()
    assert stats["acceptance_length"] == 4.0
    assert evidence["acceptance_length"] == "reported"


def test_a_replaced_reply_and_one_that_continues_another_are_marked() -> None:
    replaced, continuing = turn(EXACT), turn(EXACT)
    replaced.replaced = continuing.continues = True
    assert [reply_object(one)["replaced"] for one in (replaced, continuing)] == [True, False]
    assert [reply_object(one)["continues"] for one in (replaced, continuing)] == [False, True]
    rows = list(csv.DictReader(io.StringIO(session_csv([replaced, continuing]))))
    assert [(row["replaced"], row["continues"]) for row in rows] == [("True", "False"), ("False", "True")]


def test_a_failure_keeps_the_text_and_says_why() -> None:
    reply = Reply(0.0)
    reply.add(chunk(1.0, "Half", 1))
    reply.end(Outcome.FAILED, StreamBroken("It broke.", "Ask again."))
    exported = reply_object(turn(reply))
    assert exported["text"] == "Half"
    assert exported["error"] == {"kind": "StreamBroken", "message": "It broke.", "hint": "Ask again."}


def test_files_are_private_and_never_overwritten(tmp_path: Path) -> None:
    conversation = Conversation(turns=[turn(EXACT)])
    first = write_session(conversation, tmp_path, now=NOW)
    second = write_session(conversation, tmp_path, now=NOW)
    assert {path.suffix for path in first} == {".json", ".csv"}
    assert not set(first) & set(second)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in [*first, *second])
    assert json.loads(first[0].read_text())[0]["text"] == "Abcde"


def test_an_empty_session_and_a_folder_that_cannot_be_made_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nothing to export"):
        write_session(Conversation(), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="Cannot write"):
        write_session(Conversation(turns=[turn(EXACT)]), tmp_path / "file" / "below")


def test_a_csv_row_has_a_reply_s_figures_and_leaves_the_unknown_empty() -> None:
    unknown = replied(chunk(1.0, "A", 1, finish_reason="stop"))
    rows = list(csv.DictReader(io.StringIO(session_csv([turn(EXACT), turn(unknown)]))))
    assert [row["acceptance_length"] for row in rows] == ["4", ""]
    assert rows[0]["position_3_rate"] == "1"
    assert rows[0]["acceptance_evidence"] == "reported"


@pytest.mark.parametrize("prompt", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_a_prompt_that_a_spreadsheet_would_run_is_quoted(prompt: str) -> None:
    rows = list(csv.DictReader(io.StringIO(session_csv([turn(EXACT, prompt)]), newline="")))
    assert rows[0]["prompt"].startswith("'")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_survives_and_no_control_character_is_in_the_file(text: str) -> None:
    exported = json.dumps(reply_object(turn(replied(chunk(1.0, text, 1), k=None))))
    assert exported.isascii()
    assert exported.isprintable()
    said = json.loads(exported)
    assert said["reasoning"] + said["text"] == text  # it may begin with a thinking tag
