"""`specchat compare --html` with servers that speak HTTP: the page is written, and nothing measured is lost for it."""

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest

from compared_pages import Node, read_page
from paced_server import PacedServer, dies_at
from specchat.cli.compare import Wishes, run_compare
from specchat.core.errors import ConfigurationError
from specchat.wiring import connection_from


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.jsonl"
    file.write_text(
        '{"prompt": "one", "id": "<b>first</b>"}\n{"prompt": "<script>two</script>"}\n{"prompt": "three"}\n'
    )
    return file


async def compared(prompts: Path, on: PacedServer, off: PacedServer, **wishes: Any) -> tuple[int, str]:  # noqa: ANN401
    """Exit code and stdout."""
    out = io.StringIO()
    given: dict[str, Any] = {"prompts": prompts, "repeats": 2, "warm_up": 1, "settle_s": 0} | wishes
    connection = connection_from({"url": on.url, "baseline_url": off.url, "max_tokens": 13})
    code = await asyncio.to_thread(run_compare, connection, Wishes(**given), out=out, err=io.StringIO())
    return code, out.getvalue()


def measured_in(file: Path) -> int:
    return sum(line.startswith('{"sample"') for line in file.read_text().splitlines())


def read(file: Path) -> Node:
    return read_page(file.read_text(encoding="utf-8"))


def fast() -> PacedServer:
    return PacedServer(k=3, per_step=3)


async def test_a_page_is_written_that_says_what_the_json_says(prompts: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    async with fast() as on, PacedServer(word_at=lambda index: 1000 + index + (index == 5)) as off:
        code, out = await compared(prompts, on, off, as_json=True, html=page)
    value, root = json.loads(out), read(page)
    assert code == 0
    assert root.all("h1")[0].text == value["verdict"][0]
    assert root.all(kind="big")[0].text.startswith(f"{value['total']['speed_ratio']:.2f} ")
    labels = [one.text for one in root.at("prompts").all("bdi")]
    assert labels == ["1 <b>first</b>", "2 <script>two</script>", "3 three"]
    assert len(root.at("parted").all("dl")) == 3
    assert on.url in root.text
    assert off.url in root.text


async def test_samples_are_kept_beside_the_page_and_written_anew_from_there(prompts: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    async with fast() as on, PacedServer() as off:
        await compared(prompts, on, off, html=page)
        assert measured_in(tmp_path / "page.samples.jsonl") == 12
        page.unlink()
        asked = len(on.requests)
        code, _ = await compared(prompts, on, off, html=page, resume=True)
        assert not [one for one in on.requests[asked:] if "completions" in one.path]
    assert code == 0
    assert "complete; 12 of 12 replies measured" in read(page).text


async def test_the_samples_lie_beside_the_markdown_where_both_are_written(prompts: Path, tmp_path: Path) -> None:
    async with fast() as on, PacedServer() as off:
        await compared(prompts, on, off, html=tmp_path / "b.html", markdown=tmp_path / "a.md", repeats=1)
    assert measured_in(tmp_path / "a.samples.jsonl") == 6
    assert (tmp_path / "b.html").exists()


async def test_a_run_that_loses_a_server_writes_a_page_that_says_so(prompts: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    async with fast() as on, PacedServer(fail=dies_at(3)) as off:
        code, _ = await compared(prompts, on, off, html=page)
    (warning,) = read(page).all(kind="warning")
    assert code == 1
    assert "This comparison is not whole." in warning.text
    assert "of 12 replies measured" in warning.text


async def test_a_page_in_a_folder_that_is_missing_is_refused_first(prompts: Path, tmp_path: Path) -> None:
    async with fast() as on, PacedServer() as off:
        with pytest.raises(ConfigurationError, match="cannot be written"):
            await compared(prompts, on, off, html=tmp_path / "none" / "x.html")
        assert not on.requests


@pytest.mark.parametrize("other", ["markdown", "samples"])
async def test_one_file_for_two_purposes_is_refused_first(prompts: Path, tmp_path: Path, other: str) -> None:
    async with fast() as on, PacedServer() as off:
        with pytest.raises(ConfigurationError, match="name the same file"):
            await compared(prompts, on, off, html=tmp_path / "x.html", **{other: tmp_path / "x.html"})
        assert not on.requests
