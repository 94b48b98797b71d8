"""Which files can be attached, how their paths may be written, and what is said of the others."""

import os
from pathlib import Path

import pytest

from specchat.core.errors import SpecchatError
from specchat.ui.attachments import LIMIT_BYTES, matching_paths, read_attachment
from specchat.ui.commands.completing import suggestions
from specchat.ui.commands.table import COMMANDS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my notes.txt").write_text("hello\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.py").write_text("a = 1")
    (tmp_path / ".hidden").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "written",
    ["my notes.txt", " my notes.txt ", '"my notes.txt"', "'my notes.txt'", r"my\ notes.txt", "~/my notes.txt"],
)
def test_a_path_is_read_however_it_is_written(written: str, folder: Path) -> None:
    attachment = read_attachment(written)
    assert (attachment.name, attachment.size, attachment.text) == ("my notes.txt", 6, "hello\n")
    assert attachment.fenced == "my notes.txt:\n```\nhello\n```\n"
    assert folder.exists()


def test_line_ends_and_a_byte_order_mark_are_taken_out(folder: Path) -> None:
    (folder / "dos.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert read_attachment("dos.txt").text == "one\ntwo"


def test_the_fence_is_longer_than_any_in_the_text(folder: Path) -> None:
    (folder / "f.md").write_text("`````\nx\n`````")
    assert read_attachment("f.md").fenced.splitlines()[1] == "``````"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"GIF89a\x00\x01", "no text file"),
        (b"caf\xe9", "no text in UTF-8"),
        (b"x" * (LIMIT_BYTES + 1), "at most 1.0 MB"),
    ],
)
def test_what_is_no_text_or_too_much_is_refused(content: bytes, words: str, folder: Path) -> None:
    (folder / "it").write_bytes(content)
    with pytest.raises(SpecchatError, match=words):
        read_attachment("it")


@pytest.mark.parametrize(
    ("written", "words"),
    [("nothing.txt", "There is no file nothing.txt"), ("sub", "is a folder"), ("pipe", "no regular file"),
     ("a\0b", "cannot be read"), ("~nobody-of-that-name/x", "There is no file"), ('"open', "There is no file")],
)  # fmt: skip
def test_what_cannot_be_read_is_said(written: str, words: str, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(SpecchatError, match=words):
        read_attachment(written)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_said(folder: Path) -> None:
    (folder / "secret").write_text("x")
    (folder / "secret").chmod(0)
    with pytest.raises(SpecchatError, match="cannot be read: Permission denied"):
        read_attachment("secret")


def test_paths_are_completed_as_they_are_written(folder: Path) -> None:
    assert matching_paths("") == ["sub/", "my notes.txt"]
    assert matching_paths("s") == ["sub/"]
    assert matching_paths("sub/") == ["sub/a.py"]
    assert matching_paths("~/m") == ["~/my notes.txt"]
    assert matching_paths(f"{folder}/sub/a") == [f"{folder}/sub/a.py"]
    assert matching_paths(".h") == [".hidden"]
    assert matching_paths("no/such/") == matching_paths("a\0") == []


def test_a_name_with_terminal_codes_is_not_offered_and_shown_harmless(folder: Path) -> None:
    (folder / "a\x1b[2Jb").write_text("x")
    assert matching_paths("a") == []
    assert "\x1b" not in read_attachment("a\x1b[2Jb").fenced


def offered(typed: str) -> list[tuple[str, str]]:
    return [(one.insert, one.shown) for one in suggestions(typed, COMMANDS)]


def test_commands_are_offered_by_their_beginning_with_what_they_take() -> None:
    assert ("/max ", "/max N") in offered("/")
    assert ("/help", "/help") in offered("/")
    assert offered("/TE") == [("/temp ", "/temp X")]
    assert all(one.what for one in suggestions("/", COMMANDS))
    assert not any(insert.startswith("/escape") for insert, _ in offered("/"))


def test_what_a_command_takes_is_offered_behind_its_name(folder: Path) -> None:
    assert offered("/thinking o") == [("/thinking on", "on"), ("/thinking off", "off")]
    assert offered("/attach s") == [("/attach sub/", "sub/")]
    assert offered("/attach sub/") == [("/attach sub/a.py", "a.py")]
    assert offered("/attach sub/a.py") == offered("/max 5") == offered("/nothing ") == []
    assert folder.exists()
