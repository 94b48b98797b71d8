"""`specchat ask` on a terminal takes its colours from a theme, the user's own included."""

import asyncio
from io import StringIO
from pathlib import Path

import pytest

from scripted_server import ScriptedServer, chunk, models, sse
from specchat.cli.ask import run_ask
from specchat.theming import theme_directory
from specchat.wiring import connection_from


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def own_themes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPECCHAT_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    (tmp_path / "themes").mkdir()
    return tmp_path / "themes"


async def run(theme: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    reply = sse(chunk("Yes", ids=[1]), chunk("", finish="stop"), "[DONE]")
    out, err = Terminal(), StringIO()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    async with ScriptedServer({"/v1/models": models("tiny"), "/v1/chat/completions": reply}) as server:
        connection = connection_from({"url": server.url, "theme": theme})
        code = await asyncio.to_thread(run_ask, connection, "Hi", as_json=False, idle_limit_seconds=20)
    return code, out.getvalue(), err.getvalue()


async def test_an_unknown_theme_is_refused_with_the_names_of_those_there_are(
    own_themes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_themes / "mine.toml").write_text((theme_directory() / "dark.toml").read_text(encoding="utf-8"))
    code, out, err = await run("pink", monkeypatch)

    assert (code, out) == (1, "")
    assert "There is no theme 'pink'. Choose one of: dark, light, mine." in err


async def test_a_users_own_theme_colours_the_reply(own_themes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (theme_directory() / "dark.toml").read_text(encoding="utf-8")
    (own_themes / "mine.toml").write_text(text.replace("#ffb454", "#010203"))
    code, out, _ = await run("mine", monkeypatch)

    assert code == 0
    assert "38;2;1;2;3mYes" in out
