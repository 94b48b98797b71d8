"""Reports of crashes: what they hold, what they never hold, and the sentence that names them."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from specchat.ui.crash import Reporter, report

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def failed(message: str, *, cause: Exception | None = None) -> Exception:
    """An error with a traceback, raised where a variable holds a prompt."""
    try:
        prompt = "what the user asked"
        assert prompt
        raise ValueError(message) from cause  # noqa: TRY301 - for the frame
    except ValueError as error:
        return error


def told(error: Exception, *secrets: str, **environment: str) -> str:
    return report(error, now=NOW, size=(80, 24), environment=environment, secrets=secrets)


def test_a_report_says_what_and_where_and_with_what() -> None:
    text = told(failed("odd"), TERM="xterm", SSH_CONNECTION="1.2.3.4 5 6.7.8.9 10")

    assert "ValueError: odd" in text
    assert "in failed" in text
    assert "terminal 80x24\nTERM=xterm\ninside SSH_CONNECTION\n" in text
    assert "1.2.3.4" not in text
    assert "at 2026-01-02 03:04:05" in text


def test_a_report_holds_no_values_of_variables() -> None:
    assert "what the user asked" not in told(failed("odd"))


def test_secrets_are_left_out_of_messages_in_any_spelling_and_in_causes_too() -> None:
    cause = failed("key sk-123456")
    text = told(failed("no place for 'a\nb é'", cause=cause), "sk-123456", "a\nb é", "no")

    assert "sk-123456" not in text
    assert "a\nb" not in text
    assert "no place for '[left out]'" in text, "what is too short to be secret stays"
    assert "a\\nb" not in told(failed(repr("a\nb é")), "a\nb é")


def test_a_message_that_quotes_a_whole_reply_is_cut() -> None:
    text = told(failed("x" * 100_000))

    assert len(text) < 5000
    assert "x [cut]" in text


def test_a_report_goes_to_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    reporter = Reporter(tmp_path / "deep" / "log", lambda: ["odd words"], {"TERM": "xterm"})
    sentence = reporter.keep(failed("odd words"), ended=True)
    (path,) = (tmp_path / "deep" / "log").iterdir()

    assert sentence == (
        f"specchat stopped because of an error of its own (ValueError): please report it with the file {path}."
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "[left out]" in path.read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_is_not_said_to_be_there(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("", encoding="utf-8")
    sentence = Reporter(tmp_path / "log", list, {}).keep(failed("odd"), ended=True)

    assert sentence.startswith("specchat stopped because of an error of its own (ValueError), and no report could be")


@pytest.mark.parametrize("again", [True, False])
def test_the_same_error_again_is_not_new(tmp_path: Path, again: bool) -> None:
    reporter = Reporter(tmp_path, list, {})

    assert reporter.is_new(failed("odd"))
    assert reporter.is_new(failed("odd") if again else TypeError("odd")) is not again
