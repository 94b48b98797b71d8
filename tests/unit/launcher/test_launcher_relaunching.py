"""A server launched anew with other speculation: what is kept of its launch, and which profile comes in its place."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from launched import fake_place
from served import record
from specchat_launcher.errors import LauncherError
from specchat_launcher.planning import plan
from specchat_launcher.profiles import load_profile, load_profiles, profile_names
from specchat_launcher.registry import Owner, ServerRecord, origin_content, record_from
from specchat_launcher.relaunching import (
    profile_anew,
    speculation_changes,
    why_not_anew,
)
from specchat_launcher.spec import Origin
from specchat_launcher.start_times import last_start, remember_start

NOWHERE = Path("/nowhere")


def launched(profile: str = "cpu-smollm2", *changes: str, **origin: object) -> ServerRecord:
    """A server that runs until it is stopped."""
    return replace(record(profile=profile), origin=Origin(changes, **origin))  # type: ignore[arg-type]


def test_what_a_server_was_launched_with_survives_its_state_file() -> None:
    origin = Origin(("port=8001", "arguments.max-model-len=1024"), hook=False, tokens=0, python="/venv/bin/python")
    content = json.loads(json.dumps(origin_content(origin)))
    full = {
        "id": "a-1", "profile": "a", "url": "http://127.0.0.1:1", "host": "127.0.0.1", "port": 1, "model": "m",
        "version": "", "server": "vllm", "owner": "itself", "supervisor": [1, 1], "log": "/l", "started_at": 0,
        "state": "ready", "key_needed": False,
    }  # fmt: skip
    kept, old = record_from({**full, "origin": content}), record_from(full)
    assert kept is not None
    assert kept.origin == origin
    assert old is not None
    assert old.origin is None


@pytest.mark.parametrize("secret", ["environment.HF_TOKEN=hf_1", "arguments.api-key=sesame"])
def test_a_secret_is_not_kept_and_so_the_server_is_not_launched_anew(secret: str) -> None:
    assert origin_content(Origin((secret,))) is None
    why = why_not_anew(replace(launched(), origin=None), user_folder=NOWHERE)
    assert "With which changes" in why
    with pytest.raises(LauncherError, match="secret was among them"):
        profile_anew(replace(launched(), origin=None), 0, user_folder=NOWHERE)


@pytest.mark.parametrize("tokens", [None, 0, 1, 2])
def test_the_same_profile_comes_with_the_same_changes_and_other_speculation(tokens: int | None) -> None:
    server = launched("cpu-smollm2", "engine=0.27.1", "arguments.max-num-seqs=2", tokens=0)
    profile = profile_anew(server, tokens, user_folder=NOWHERE)

    assert profile.engine == "0.27.1"
    assert dict(profile.arguments)["max-num-seqs"] == 2
    assert (profile.speculation.tokens if profile.speculation else 0) == (3 if tokens is None else tokens)
    assert profile.hook is (tokens != 0)
    # The changes of the first launch, so that the next one can bring everything back.
    assert (profile.changes, profile.tokens_anew) == (server.origin and server.origin.changes, tokens)


@pytest.mark.parametrize(
    "name", [name for name in profile_names(NOWHERE) if load_profile(name, user_folder=NOWHERE).speculation]
)
def test_without_speculation_any_profile_becomes_its_baseline(name: str) -> None:
    profile = load_profile(name, user_folder=NOWHERE, changes=speculation_changes(0))
    assert profile.speculation is None
    assert not profile.hook
    assert "per-request-spec-decode-metrics" not in dict(profile.arguments)
    baseline = f"{name}-baseline"
    if baseline in profile_names(NOWHERE):
        other = load_profile(baseline, user_folder=NOWHERE)
        for what in ("arguments", "environment", "expected", "container", "hook"):
            assert getattr(profile, what) == getattr(other, what)


def test_an_interpreter_that_was_found_stays_the_same(tmp_path: Path) -> None:
    with fake_place(tmp_path) as place:
        profile = load_profile("fake", user_folder=place.profiles)
        spec = plan(profile, place.root, report=lambda _: None, port=1)
        assert spec.origin is not None
        assert spec.origin.python == str(place.python)
        moved = replace(launched("fake"), origin=replace(spec.origin, python="/elsewhere/python"))
        assert profile_anew(moved, None, user_folder=place.profiles).python == "/elsewhere/python"
        chosen = replace(moved, origin=Origin(("python=/mine",), python="/elsewhere/python"))
        assert profile_anew(chosen, None, user_folder=place.profiles).python == "/mine"


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (launched("cpu-smollm2-baseline"), "has no speculation"),
        (launched("no-such"), "no server profile"),
        (replace(launched(), owner=Owner.APP), "belongs to another specchat"),
        (replace(launched(), key_needed=True), "VLLM_API_KEY is not set"),
        (launched(), ""),
        (launched(tokens=0), ""),
    ],
)
def test_why_a_server_cannot_be_launched_anew_is_a_sentence(server: ServerRecord, words: str) -> None:
    why = why_not_anew(server, user_folder=NOWHERE, environ={})
    assert words in why if words else not why


def test_a_key_that_is_set_lets_it_be_launched_anew() -> None:
    guarded = replace(launched(), key_needed=True)
    assert not why_not_anew(guarded, user_folder=NOWHERE, environ={"VLLM_API_KEY": "sesame"})


def test_how_long_a_start_took_is_kept_for_each_profile(tmp_path: Path) -> None:
    remember_start(tmp_path, "one", 34.26)
    remember_start(tmp_path, "one", 35.0)
    assert (last_start(tmp_path, "one"), last_start(tmp_path, "other")) == (35.0, None)
    (tmp_path / "starts" / "one.json").write_text("[]", encoding="utf-8")
    assert last_start(tmp_path, "one") is None


def test_how_long_a_start_took_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "starts").write_text("a file in the way", encoding="utf-8")
    remember_start(tmp_path, "one", 1.0)
    assert last_start(tmp_path, "one") is None


def test_the_cpu_pair_is_the_demo_s_server_and_its_baseline() -> None:
    on, off = load_profiles("cpu-smollm2-pair", user_folder=NOWHERE)
    assert (on.name, off.name) == ("cpu-smollm2", "cpu-smollm2-baseline")
    assert on.speculation is not None
    assert off.speculation is None
