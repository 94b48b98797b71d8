"""`--dry-run`: the whole command of every profile, as a user would read and copy it.

The texts are in `dry_run/`; WRITE_DRY_RUNS=1 writes them anew.
"""

import os
import shlex
from pathlib import Path

import pytest

from launcher_machine import Laid, lay_out
from specchat_launcher.commands import server_command, shell_text
from specchat_launcher.commands.shell import command_text, exports
from specchat_launcher.planning import plan
from specchat_launcher.profiles import RunsIn, load_profile, load_profiles, profile_names
from specchat_launcher.secret_names import is_secret

GOLDEN = Path(__file__).parent / "dry_run"
DOCS = Path(__file__).parents[3] / "docs" / "guide"
NOWHERE = Path("/nowhere")
STARTED = [name for name in profile_names(NOWHERE) if load_profile(name).runs_in is not RunsIn.ELSEWHERE]


@pytest.fixture
def laid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laid:
    return lay_out(tmp_path, monkeypatch)


def dry_run(name: str, laid: Laid, changes: tuple[str, ...] = (), **environ: str) -> str:
    """What `--dry-run` prints on a machine that is laid out below a folder, with neutral paths."""
    texts = []
    for profile in load_profiles(name, user_folder=NOWHERE, changes=changes):
        spec = laid.plan(profile, environ)
        texts.append(shell_text(spec, laid.environ | environ))
    return laid.neutral("\n".join(texts))


def compare(file: str, text: str) -> None:
    golden = GOLDEN / file
    if os.environ.get("WRITE_DRY_RUNS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", STARTED)
def test_the_command_of_a_profile_is_the_one_that_was_read(name: str, laid: Laid) -> None:
    compare(f"{name}.txt", dry_run(name, laid))


def test_a_newer_vllm_is_asked_for_what_each_step_accepted(laid: Laid) -> None:
    laid.install("vllm", "0.32.0")
    text = dry_run("mi355x-minimax-m3", laid)
    assert "--per-request-spec-decode-metrics detailed" in text
    assert "left out" not in text
    compare("mi355x-minimax-m3-on-vllm-0.32.0.txt", text)


def test_podman_gets_its_own_words(laid: Laid) -> None:
    laid.remove("docker")
    text = dry_run("mi355x-minimax-m3-container", laid)
    assert "docker.io/vllm/vllm-openai-rocm:v0.27.1" in text
    assert "--group-add keep-groups" in text
    compare("mi355x-minimax-m3-container-by-podman.txt", text)


def test_a_machine_without_a_server_is_told_what_was_assumed(laid: Laid) -> None:
    laid.remove("vllm")
    laid.remove("python3")
    compare("mi355x-minimax-m3-without-vllm.txt", dry_run("mi355x-minimax-m3", laid))


@pytest.mark.parametrize("name", STARTED)
def test_a_shell_reads_the_text_as_the_command_that_is_run(name: str, laid: Laid) -> None:
    for profile in load_profiles(name, user_folder=NOWHERE):
        spec = laid.plan(profile)
        argv, environment = server_command(spec, laid.environ)
        lines = [line for line in shell_text(spec, laid.environ).splitlines() if not line.startswith("#")]
        sets = dict(shlex.split(line)[1].split("=", 1) for line in lines if line.startswith("export "))
        command = "\n".join(line for line in lines if not line.startswith("export "))
        assert tuple(shlex.split(command.replace("\\\n", " "))) == argv
        assert laid.environ | sets == laid.environ | environment


def test_no_secret_is_shown(laid: Laid) -> None:
    secrets = {"VLLM_API_KEY": "sesame-1", "HF_TOKEN": "sesame-2"}
    changes = ("environment.MY_TOKEN=sesame-3", "arguments.some-key=sesame-4")
    for name in ("mi355x-minimax-m3", "mi355x-minimax-m3-container"):
        text = dry_run(name, laid, changes, **secrets)
        assert "sesame" not in text
        assert "***" in text


def test_no_key_stands_on_the_command_line_of_a_container(laid: Laid) -> None:
    profile = load_profile("mi355x-minimax-m3-container", changes=["environment.MY_TOKEN=sesame-3"])
    keys = {"VLLM_API_KEY": "sesame-1", "HF_TOKEN": "sesame-2", "OPENAI_API_KEY": "sesame-5"}
    argv, environment = server_command(laid.plan(profile, keys), laid.environ | keys)
    assert "sesame" not in " ".join(argv)
    assert {"VLLM_API_KEY", "HF_TOKEN", "MY_TOKEN"} <= set(argv)
    assert (environment["VLLM_API_KEY"], environment["MY_TOKEN"]) == ("sesame-1", "sesame-3")
    assert "OPENAI_API_KEY" not in environment


def test_a_text_that_a_shell_would_take_apart_is_quoted() -> None:
    assert (
        command_text(("run", "--a", "x y; $(z)", "--b='1'"))
        == "run \\\n    --a 'x y; $(z)' \\\n    '--b='\"'\"'1'\"'\"''"
    )
    assert exports({"A": "1 2", "B": "3"}, {"B": "3"}) == ["export A='1 2'"]


@pytest.mark.parametrize("name", ["HF_TOKEN", "VLLM_API_KEY", "AWS_SECRET_ACCESS_KEY", "--api-key", "ssl-password"])
def test_these_are_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "MAX_TOKENS", "--ssl-keyfile", "KEYBOARD", "PATH"])
def test_these_are_none(name: str) -> None:
    assert not is_secret(name)


def test_the_documentation_shows_what_is_printed() -> None:
    page = (DOCS / "launching.md").read_text(encoding="utf-8")
    for name in ("mi355x-minimax-m3", "mi355x-minimax-m3-container"):
        text = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
        assert f"```sh\n{text}```" in page, name


def test_the_documentation_explains_every_line_that_the_model_card_has_not() -> None:
    page = (DOCS / "launching.md").read_text(encoding="utf-8")
    card, printed = (block.split("```")[0] for block in page.split("```sh\n")[1:3])
    explained = page.split("## What is added")[1].split("\n## ")[0]
    of_the_card = set(card.replace("\\", " ").split())
    for line in printed.splitlines():
        words = line.removeprefix("export ").split()
        name = words[0].split("=")[0] if words and (line.startswith("export ") or words[0].startswith("--")) else None
        if name is not None and name not in of_the_card and words[0] not in of_the_card:
            assert f"`{name}" in explained, name


def test_nothing_of_the_model_card_is_missing(laid: Laid) -> None:
    page = (DOCS / "launching.md").read_text(encoding="utf-8")
    card = page.split("```sh\n")[1].split("```")[0].replace("\\\n", " ")
    argv, environment = server_command(laid.plan(load_profile("mi355x-minimax-m3")), laid.environ)
    setting, command = card.strip().splitlines()
    name, value = setting.removeprefix("export ").split("=")
    assert environment[name] == value
    program, verb, *rest = shlex.split(command)
    assert (Path(argv[0]).name, argv[1]) == (program, verb)
    # In the card's own order, with nothing between.
    assert list(argv[2 : 2 + len(rest)]) == rest


def test_planning_a_dry_run_changes_nothing(laid: Laid) -> None:
    before = sorted(laid.root.rglob("*"))
    for name in STARTED:
        for profile in load_profiles(name, user_folder=NOWHERE):
            plan(profile, laid.data, report=lambda _: None, environ=laid.environ, prepare=False, home=laid.home)
    assert sorted(laid.root.rglob("*")) == before
