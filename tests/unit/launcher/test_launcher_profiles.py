"""Profiles: what may stand in one, what it inherits, and how a mistake is told."""

import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_launcher.arguments import rendered
from specchat_launcher.errors import LauncherError, ProfileError, UnknownNameError
from specchat_launcher.profile_changes import parsed_changes
from specchat_launcher.profile_files import joined_tables, user_profiles_folder
from specchat_launcher.profile_schema import FREE_TABLES, KEYS, PHASES, SIMPLE, TABLES
from specchat_launcher.profiles import Profile, RunsIn, ServerKind, load_profile, load_profiles, profile_names
from specchat_launcher.startup.phases import StartPhase
from specchat_launcher.vllm_options import STEP_METRICS, supported, version_of

CARD = [
    "--trust-remote-code", "--tensor-parallel-size", "8", "--block-size", "128",
    "--attention-backend", "TRITON_ATTN", "--moe-backend", "aiter",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the user's profiles, empty."""
    return tmp_path / "profiles"


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def refusal(name: str, folder: Path, changes: tuple[str, ...] = ()) -> str:
    with pytest.raises(LauncherError) as caught:
        load_profile(name, user_folder=folder, changes=changes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_servers_of_the_issue_are_there(folder: Path) -> None:
    assert {
        "mi355x-minimax-m3", "mi355x-minimax-m3-baseline", "mi355x-minimax-m3-pair", "mi355x-minimax-m3-container",
        "sglang-minimax-m3", "sglang-minimax-m3-container", "docker-model-runner", "transformers-serve",
        "cpu-smollm2", "cpu-smollm2-baseline",
    } <= set(profile_names(folder))  # fmt: skip


@pytest.mark.parametrize("name", profile_names(Path("/nowhere")))
def test_every_profile_that_ships_says_what_it_is(name: str, folder: Path) -> None:
    for profile in load_profiles(name, user_folder=folder):
        assert profile.title
        assert profile.summary.endswith((".", "REPOSITORY."))
        assert profile.file is None
        assert profile.host == "127.0.0.1"
        assert profile.model


def test_the_cpu_server_is_started_with_exactly_these_flags(folder: Path) -> None:
    assert load_profile("cpu-smollm2", user_folder=folder).flags == (
        "--enforce-eager", "--max-num-seqs", "4", "--max-model-len", "2048", "--disable-uvicorn-access-log",
        "--override-generation-config", '{"temperature": 0.0}',
    )  # fmt: skip


def test_the_model_card_s_command_is_there_to_the_letter_and_first(folder: Path) -> None:
    profile = load_profile("mi355x-minimax-m3", user_folder=folder)
    assert list(rendered(profile.arguments))[: len(CARD)] == CARD
    assert dict(profile.environment)["VLLM_ROCM_USE_AITER"] == "1"
    assert profile.model == "amd/MiniMax-M3-MXFP4"
    assert profile.speculation is not None
    assert (profile.speculation.method, profile.speculation.draft) == ("eagle3", "amd/MiniMax-M3-EAGLE3.1")
    assert (profile.speculation.tokens, profile.speculation.attention_backend) == (3, "TRITON_ATTN")
    assert profile.expected is not None
    assert profile.expected.moe_backend == "AITER_MXFP4_MXFP4"


def test_no_server_joins_steps_in_one_chunk(folder: Path) -> None:
    for name in profile_names(folder):
        assert all("stream-interval" not in dict(profile.arguments) for profile in load_profiles(name))


@pytest.mark.parametrize(
    ("speculating", "plain"),
    [
        ("cpu-smollm2", "cpu-smollm2-baseline"),
        ("mi355x-minimax-m3", "mi355x-minimax-m3-baseline"),
        ("mi355x-minimax-m3-container", "mi355x-minimax-m3-container-baseline"),
    ],
)
def test_a_baseline_differs_in_speculation_alone(speculating: str, plain: str, folder: Path) -> None:
    on, off = load_profile(speculating, user_folder=folder), load_profile(plain, user_folder=folder)
    assert on.speculation is not None
    assert off.speculation is None
    assert not off.hook
    # These two say something of speculation.
    only_on = {STEP_METRICS, "speculative-config"}
    assert [pair for pair in on.arguments if pair[0] not in only_on] == [
        pair for pair in off.arguments if pair[0] not in only_on
    ]
    for what in ("environment", "model", "gpus", "container", "version", "port", "engine"):
        assert getattr(on, what) == getattr(off, what)


def test_a_pair_is_two_servers_that_share_no_gpu_and_no_port(folder: Path) -> None:
    left, right = load_profiles("mi355x-minimax-m3-pair", user_folder=folder)
    assert left.gpus is not None
    assert right.gpus is not None
    assert sorted(left.gpus.visible + right.gpus.visible) == list(range(8))
    assert left.port != right.port
    assert dict(left.arguments)["tensor-parallel-size"] == dict(right.arguments)["tensor-parallel-size"] == 4


def test_a_change_to_a_pair_reaches_both_and_a_port_cannot(folder: Path) -> None:
    both = load_profiles("mi355x-minimax-m3-pair", user_folder=folder, changes=["arguments.max-model-len=12288"])
    assert [dict(profile.arguments)["max-model-len"] for profile in both] == [12288, 12288]
    with pytest.raises(ProfileError, match="cannot share a port"):
        load_profiles("mi355x-minimax-m3-pair", user_folder=folder, changes=["port=9000"])


def test_a_profile_takes_over_what_it_does_not_say_itself(folder: Path) -> None:
    write(
        folder, "mine",
        'extends = "mi355x-minimax-m3"\nport = 9000\n[arguments]\nmax-model-len = 12288\nshutdown-timeout = false\n'
        '[environment]\nVLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS = false\n[speculation]\ntokens = 2\n',
    )  # fmt: skip
    parent, mine = load_profile("mi355x-minimax-m3"), load_profile("mine", user_folder=folder)
    assert mine.port == 9000
    assert mine.model == parent.model
    expected = [pair for pair in parent.arguments if pair[0] != "shutdown-timeout"]
    assert list(mine.arguments) == [*expected, ("max-model-len", 12288)]
    assert len(mine.environment) == len(parent.environment) - 1
    assert mine.speculation is not None
    assert (mine.speculation.tokens, mine.speculation.draft) == (2, "amd/MiniMax-M3-EAGLE3.1")
    assert mine.file == folder / "mine.toml"


def test_a_user_s_profile_replaces_the_one_of_its_name_and_may_extend_it(folder: Path) -> None:
    write(folder, "mi355x-minimax-m3", 'extends = "mi355x-minimax-m3"\nport = 9000\n')
    assert load_profile("mi355x-minimax-m3", user_folder=folder).port == 9000
    # What builds on it builds on the user's.
    assert load_profile("mi355x-minimax-m3-baseline", user_folder=folder).port == 9000
    assert profile_names(folder) == profile_names(Path("/nowhere"))


def test_a_typo_is_told_with_its_file_and_the_nearest_key(folder: Path) -> None:
    file = write(folder, "mine", 'modle = "org/model"\n')
    text = refusal("mine", folder)
    assert text == f'{file} has the unknown key "modle". The nearest valid key is "model".'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[speculation]\nmethod = 'x'\ndraft = 'd'\ntokenz = 3\n", 'The nearest valid key is "speculation.tokens".'),
        ("[gpus]\ncount = 8\nmemory = 1\n", 'The nearest valid key is "gpus.memory_gib".'),
        ("[timeouts]\nloadin = 60\n", 'The nearest valid key is "timeouts.loading".'),
        ("port = 'eight'\n", '"port" must be a port from 1 to 65535.'),
        ("port = true\n", "has true for"),
        ("port = 70000\n", '"port" must be a port from 1 to 65535.'),
        ("hook = 1\n", '"hook" must be true or false.'),
        ("server = 'vlm'\n", "one of vllm, sglang"),
        ("runs_in = 'docker'\n", "one of cpu-engine, python"),
        ("gpus = 8\n", '"gpus" must be a table'),
        ("members = ['one']\n", "at least two"),
        ("[gpus]\ncount = 0\n", "a whole number from 1"),
        ("[gpus]\narchitecture = 'gfx950'\n", 'Add the key "gpus.count".'),
        ("[gpus]\ncount = 2\nvisible = [0, 0]\n", "List each of them once."),
        ("[speculation]\nmethod = 'eagle3'\ntokens = 3\n", 'Add the key "speculation.draft".'),
        ("[expected]\nacceptance_length = [3.0, 2.0]\n", "two numbers, the lower one first"),
        ("[arguments]\n--block-size = 128\n", 'Write it without dashes in front: "block-size".'),
        ("[arguments]\nport = 8000\n", 'Set "port" instead.'),
        ("[arguments]\napi-key = 'secret'\n", "Set VLLM_API_KEY in the environment instead."),
        ("[arguments]\nspeculative-config = {method = 'eagle3'}\n", 'Set "speculation" instead.'),
        ("[environment]\nA = 1\n", "a text in quotes"),
        ("[environment]\nVLLM_API_KEY = 'secret'\n", "set VLLM_API_KEY in the environment that you start"),
        ("[environment]\n'A B' = '1'\n", "Use letters, digits and underscores."),
        ("[timeouts]\nloading = 0\n", "seconds, more than 0"),
        ("runs_in = 'container'\n", "Add [container] with an image."),
        ("runs_in = 'container'\n[container]\nimage='i'\nmounts=['here']\n", "is no pair of folders"),
        ("runs_in = 'elsewhere'\n", "Say where it answers"),
        ("runs_in = 'cpu-engine'\nengine = '9.9'\n", "Choose one of: 0.32.0, 0.27.1."),
        ("runs_in = 'cpu-engine'\n", 'has no "engine"'),
        ("runs_in = 'cpu-engine'\nengine = '0.32.0'\n", "Choose smollm2-135m-instruct"),
        ("engine = '0.32.0'\n", "does not run in the CPU engine"),
        ("port = \n", "is no valid TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_sentence_with_what_to_do(text: str, told: str, folder: Path) -> None:
    file = write(folder, "mine", ('model = "org/model"\n' if "model" not in text else "") + text)
    said = refusal("mine", folder)
    assert told in said
    assert str(file) in said
    assert said.endswith(".")


def test_a_profile_without_a_model_is_refused(folder: Path) -> None:
    assert 'names no model. Add the key "model"' in refusal("mine", write(folder, "mine", "port = 1\n").parent)


@pytest.mark.parametrize(
    ("parallel", "told"),
    [("3", "the 8 GPUs of this profile cannot be divided by 3. Choose 1 or 2 or 4 or 8"), ("16", "Choose 1 or 2 or"),
     ("true", "must be a whole number from 1"), ('"8"', "must be a whole number from 1")],
)  # fmt: skip
def test_a_tensor_parallel_size_that_does_not_divide_the_gpus_is_refused(
    parallel: str, told: str, folder: Path
) -> None:
    text = refusal("mi355x-minimax-m3", folder, (f"arguments.tensor-parallel-size={parallel}",))
    assert told in text


def test_a_tensor_parallel_size_that_does_not_divide_the_heads_is_refused(folder: Path) -> None:
    changes = ("gpus.count=6", "arguments.tensor-parallel-size=3")
    text = refusal("mi355x-minimax-m3", folder, changes)
    assert "the model's 64 attention heads cannot be divided by 3. Choose 1 or 2, or" in text


def test_inheritance_in_a_circle_is_told_with_the_circle(folder: Path) -> None:
    write(folder, "one", 'extends = "two"\n')
    write(folder, "two", 'extends = "one"\n')
    assert "one extends two extends one" in refusal("one", folder)
    write(folder, "self", 'extends = "self"\n')
    assert "self extends self" in refusal("self", folder)


def test_an_unknown_parent_is_told_with_the_known_ones(folder: Path) -> None:
    write(folder, "mine", 'extends = "mi355"\n')
    text = refusal("mine", folder)
    assert "there is no such profile" in text
    assert "mi355x-minimax-m3" in text


@pytest.mark.parametrize("name", ["nothing", "../cpu-smollm2", "", "/etc/passwd", "..", "cpu-smollm2.toml"])
def test_an_unknown_name_is_answered_with_the_known_ones(name: str, folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="cpu-smollm2"):
        load_profile(name, user_folder=folder)


def test_an_unreadable_file_is_told(folder: Path) -> None:
    write(folder, "mine", "").write_bytes(b"\xff\xfe")
    assert "cannot be read" in refusal("mine", folder)


def test_changes_win_over_the_file_and_keep_their_types(folder: Path) -> None:
    profile = load_profile(
        "mi355x-minimax-m3",
        user_folder=folder,
        changes=[
            "port=8001", "arguments.max-model-len=12288", "arguments.kv-cache-dtype=fp8", "arguments.block-size=false",
            "arguments.gpu-memory-utilization=0.85", "environment.VLLM_USE_BREAKABLE_CUDAGRAPH=1", "hook=false",
            "python=/opt/venv/bin/python", "speculation.tokens=2", "timeouts.loading=7200", "expected=false",
            "arguments.hf-overrides.text_config.rope=1", "served_name=m3", "version=0.32",
        ],
    )  # fmt: skip
    arguments = dict(profile.arguments)
    assert (profile.port, arguments["max-model-len"], arguments["kv-cache-dtype"]) == (8001, 12288, "fp8")
    assert arguments["gpu-memory-utilization"] == 0.85
    assert "block-size" not in arguments
    assert arguments["hf-overrides"] == {"text_config": {"rope": 1}}
    assert dict(profile.environment)["VLLM_USE_BREAKABLE_CUDAGRAPH"] == "1"
    assert (profile.hook, profile.python, profile.expected) == (False, "/opt/venv/bin/python", None)
    assert profile.timeouts == (("loading weights", 7200.0),)
    assert (profile.served_name, profile.version) == ("m3", "0.32")
    assert profile.speculation is not None
    assert profile.speculation.tokens == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("port", "is no key=value"), ("=1", "is no key=value"), ("prot=1", 'The nearest valid key is "port".'),
        ("tensor-parallel-size=4", "is set as arguments.tensor-parallel-size=4."),
        ("extends=cpu-smollm2", "unknown key"), ("port.x=1", '"port" is no table'), ("port=x", "a port from 1"),
        ("gpus.cuont=1", 'The nearest valid key is "gpus.count".'), ("arguments.host=0.0.0.0", 'Set "host" instead.'),
        ("model=/no/such/*", None), ("engine=9.9", "does not run in the CPU engine"),
    ],
)  # fmt: skip
def test_a_wrong_change_is_told(change: str, told: str | None, folder: Path) -> None:
    if told is None:
        assert load_profile("mi355x-minimax-m3", user_folder=folder, changes=[change]).model == change.split("=")[1]
        return
    text = refusal("mi355x-minimax-m3", folder, (change,))
    assert told in text
    assert "--set" in text


def test_an_unknown_engine_is_told_with_the_known_ones(folder: Path) -> None:
    assert "Choose one of: 0.32.0, 0.27.1." in refusal("cpu-smollm2", folder, ("engine=9.9",))


def test_a_pair_cannot_be_changed_as_one(folder: Path) -> None:
    assert "Start them one by one" in refusal("mi355x-minimax-m3-pair", folder, ("hook=false",))


def test_what_cannot_be_started_says_why_and_where_it_answers(folder: Path) -> None:
    profile = load_profile("docker-model-runner", user_folder=folder)
    assert profile.runs_in is RunsIn.ELSEWHERE
    assert profile.server is ServerKind.DOCKER_MODEL_RUNNER
    assert "--speculative-config" in profile.cannot
    assert ":12434" in profile.url


def test_the_user_s_folder_is_where_the_variables_say() -> None:
    home = Path("/home/user")
    assert user_profiles_folder({}, home) == home / ".config/specchat/profiles"
    assert user_profiles_folder({"XDG_CONFIG_HOME": "/x"}, home) == Path("/x/specchat/profiles")
    assert user_profiles_folder({"XDG_CONFIG_HOME": "x"}, home) == home / ".config/specchat/profiles"
    assert user_profiles_folder({"SPECCHAT_PROFILES": "/p", "XDG_CONFIG_HOME": "/x"}, home) == Path("/p")


def test_the_phases_of_the_profiles_are_those_of_a_start() -> None:
    assert set(PHASES.values()) == {phase.value for phase in StartPhase if phase is not StartPhase.READY}


def test_every_key_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guide" / "profiles.md").read_text(encoding="utf-8")
    inner = [f"{table}.{key}" for table, keys in TABLES.items() for key in keys]
    for key in (*SIMPLE, *inner, *FREE_TABLES, *(f"timeouts.{phase}" for phase in PHASES)):
        assert f"`{key}`" in page, key


def test_the_example_of_the_documentation_is_a_profile(folder: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "guide" / "profiles.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 2
    for number, block in enumerate(blocks):
        write(folder, f"example-{number}", block)
        assert isinstance(load_profile(f"example-{number}", user_folder=folder), Profile)


VALUES = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.dictionaries(st.text(max_size=3), inner)
)


@given(st.dictionaries(st.text(max_size=5), VALUES), st.dictionaries(st.text(max_size=5), VALUES))
def test_joining_with_nothing_changes_nothing_and_the_upper_value_wins(
    lower: dict[str, object], upper: dict[str, object]
) -> None:
    assert joined_tables(lower, {}) == lower
    joined = joined_tables(lower, upper)
    assert all(joined[key] == value for key, value in upper.items() if not isinstance(value, dict))
    assert all(joined[key] == value for key, value in lower.items() if key not in upper)


@given(st.text(max_size=40))
def test_no_change_whatever_does_more_than_be_refused(change: str) -> None:
    content = {}
    with contextlib.suppress(ProfileError):
        content = parsed_changes([change])
    assert set(content) <= set(KEYS)


def test_arguments_are_written_as_a_parser_reads_them() -> None:
    assert rendered([
        ("a", True), ("b", False), ("c", 1), ("d", -1), ("e", "x y"), ("f", {"k": [1, "ü"]}), ("g", [1, 2]),
        ("h", [{"k": 1}]), ("i", 0.5),
    ]) == (
        "--a", "--c", "1", "--d=-1", "--e", "x y", "--f", '{"k":[1,"ü"]}', "--g", "1", "2", "--h", '[{"k":1}]',
        "--i", "0.5",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("version", "kept"),
    [("0.27.1", False), ("0.28.9", False), ("0.29.0", True), ("0.32.0", True), ("", True), ("nightly", True),
     ("0.33.1.dev2+rocm722", True), ("v0.28.0", False), ("0.28.1rc1", False)],
)  # fmt: skip
def test_an_argument_is_left_out_where_the_version_is_known_to_lack_it(version: str, kept: bool) -> None:
    arguments, notices = supported([("a", True), (STEP_METRICS, "detailed")], version, speculates=True)
    assert (STEP_METRICS in dict(arguments)) is kept
    assert ("a", True) in arguments
    assert bool(notices) is not kept
    assert kept or "0.29.0 was the first" in notices[0]


def test_metrics_of_speculation_are_left_out_without_it() -> None:
    arguments, notices = supported([(STEP_METRICS, "detailed")], "0.32.0", speculates=False)
    assert arguments == ()
    assert "refuses to start" in notices[0]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0.27.1", (0, 27, 1)), ("v0.27.1", (0, 27, 1)), ("0.32", (0, 32, 0)), ("0.33.1.dev2+g1", (0, 33, 1)),
     ("0.28.0rc1", (0, 28, 0)), ("latest", None), ("", None), ("0", None)],
)  # fmt: skip
def test_versions_are_read_as_numbers(text: str, numbers: tuple[int, int, int] | None) -> None:
    assert version_of(text) == numbers
