"""The arguments of every vLLM profile, ROCm's included, are understood by the parsers of real vLLM versions."""

import json
import subprocess
from pathlib import Path

import pytest

from launcher_machine import Laid, lay_out
from specchat_launcher.commands.container import INSIDE_HOST
from specchat_launcher.commands.vllm import server_argv, vllm_arguments
from specchat_launcher.paths import DataLayout
from specchat_launcher.planning import plan
from specchat_launcher.profiles import Profile, RunsIn, ServerKind, load_profiles, profile_names
from specchat_launcher.server_environment import offline_environment
from specchat_launcher.spec import ServerSpec

pytestmark = pytest.mark.engine

NOWHERE = Path("/nowhere")
SCRIPT = Path(__file__).parent / "parse_arguments.py"
WRONG = {
    "a flag that there is not": ["some/model", "--no-such-flag"],
    "a backend that there is not": ["some/model", "--moe-backend", "aitre"],
    "an attention backend that there is not": ["some/model", "--attention-backend", "TRITON_ATN"],
    "a parser of tool calls that there is not": ["some/model", "--enable-auto-tool-choice", "--tool-call-parser", "m3"],
    "a parser of thinking that there is not": ["some/model", "--reasoning-parser", "minimax_m33"],
    "a draft's backend that there is not": ["some/model", "--speculative-config", '{"attention_backend": "X"}'],
    "a key of speculation that there is not": ["some/model", "--speculative-config", '{"num_tokens": 3}'],
}


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Laid:
    with pytest.MonkeyPatch.context() as patch:
        return lay_out(tmp_path_factory.mktemp("machine"), patch)


def arguments(spec: ServerSpec) -> list[str]:
    """What the parser is given: the command without the program."""
    if spec.runs_in is RunsIn.CPU_ENGINE:
        argv = server_argv(spec)
        return list(argv[argv.index("--model") :])
    return list(vllm_arguments(spec, INSIDE_HOST if spec.container is not None else spec.host))


def planned(profile: Profile, version: str, laid: Laid) -> ServerSpec:
    spec = plan(
        profile, laid.data, report=lambda _: None, port=8000, environ=laid.environ, prepare=False, home=laid.home
    )
    assert spec.engine_version == version
    return spec


def lists_of(version: str, laid: Laid) -> dict[str, list[str]]:
    laid.install("vllm", version)
    changes = {
        RunsIn.CPU_ENGINE: [f"engine={version}"],
        RunsIn.PYTHON: [],
        RunsIn.CONTAINER: [f"container.image=vllm/vllm-openai-rocm:v{version}"],
    }
    found = {}
    for name in profile_names(NOWHERE):
        for profile in load_profiles(name, user_folder=NOWHERE):
            if profile.server is ServerKind.VLLM and profile.runs_in in changes:
                (changed,) = load_profiles(profile.name, user_folder=NOWHERE, changes=changes[profile.runs_in])
                found[profile.name] = arguments(planned(changed, version, laid))
    return found


def complaints(version: str, root: Path, lists: dict[str, list[str]]) -> dict[str, str]:
    engine = DataLayout(root).engine(version)
    ran = subprocess.run(
        [str(engine / "env" / "bin" / "python"), "-P", "-s", str(SCRIPT)],
        input=json.dumps(lists),
        env={**offline_environment({"PATH": "/usr/bin:/bin"}, engine / "cache"), "VLLM_TARGET_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    answer: dict[str, str] = json.loads(ran.stdout.splitlines()[-1])
    return answer


def test_vllm_s_own_parser_takes_every_profile_and_refuses_what_is_wrong(
    engine_version: str, engine_root: Path, laid: Laid
) -> None:
    lists = lists_of(engine_version, laid)
    assert {"cpu-smollm2", "mi355x-minimax-m3", "mi355x-minimax-m3-container", "mi355x-minimax-m3-tp4"} <= set(lists)
    said = complaints(engine_version, engine_root, lists | WRONG)
    assert {name: said[name] for name in lists} == dict.fromkeys(lists, "")
    # The parser does look at these: what it takes above, it takes because it knows it.
    assert [name for name in WRONG if not said[name]] == []
