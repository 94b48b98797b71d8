"""The lines to copy do the right thing in a plain shell, whatever was set before."""

import shlex
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from specchat.cli.hook_lines import container_arguments, shell_lines


def after_lines(folder: str, before: dict[str, str]) -> list[str]:
    """What a POSIX shell exports once it has read the lines."""
    script = "\n".join([*shell_lines(PurePosixPath(folder)), 'printf "%s\\n%s\\n" "$PYTHONPATH" "$VLLM_PLUGINS"'])
    done = subprocess.run(["/bin/sh", "-euc", script], env=before, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("before", [{}, {"PYTHONPATH": "", "VLLM_PLUGINS": ""}])
def test_without_anything_before_the_hook_stands_alone(before: dict[str, str]) -> None:
    assert after_lines("/opt/hook", before) == ["/opt/hook", "specchat,specchat_http"]


def test_what_was_set_before_stays_behind_the_hook() -> None:
    before = {"PYTHONPATH": "/a b:/c", "VLLM_PLUGINS": "mine,x y"}
    assert after_lines("/opt/hook", before) == ["/opt/hook:/a b:/c", "specchat,specchat_http,mine,x y"]


@pytest.mark.parametrize("folder", ["/a b/hook", "/a$HOME/hook", '/a"b/hook', "/a`id`/hook", "/a\\b/hook", "/a'b/hook"])
def test_no_character_of_the_folder_is_taken_for_shell(folder: str) -> None:
    assert after_lines(folder, {"PYTHONPATH": "/x"})[0] == f"{folder}:/x"


def test_a_container_sees_the_folder_read_only() -> None:
    said = container_arguments(PurePosixPath("/opt/a b"))
    assert said == "-v '/opt/a b:/specchat_vllm:ro' -e PYTHONPATH=/specchat_vllm -e VLLM_PLUGINS=specchat,specchat_http"


def test_the_page_for_operators_has_the_same_lines() -> None:
    page = (Path(__file__).parents[3] / "docs/guide/operators.md").read_text(encoding="utf-8")
    folder = PurePosixPath("/path/to/the/folder")
    for line in shell_lines(folder):
        assert f"\n{line}\n" in page
    assert container_arguments(folder) in " ".join(page.replace("\\\n", " ").split())


def test_the_line_that_lists_plugins_names_those_that_vllm_would_load(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/guide/operators.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("python -c")]
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nb = b:b\n[vllm.platform_plugins]\na = a:a\n[vllm.endpoint_plugins]\nc = c:c\n",
        encoding="utf-8",
    )
    line = line.replace("python", f"{shlex.quote(sys.executable)} -S", 1)
    done = subprocess.run(
        ["/bin/sh", "-c", line], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "a,b"
