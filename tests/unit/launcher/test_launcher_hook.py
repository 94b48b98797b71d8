"""How the hook gets into a server without taking anything from it."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_launcher.commands.vllm import server_environment
from specchat_launcher.errors import HookError
from specchat_launcher.hook import (
    HOOK_PLUGINS,
    find_hook,
    hook_environment,
    hook_folder,
    merged_names,
    plugins_loaded_unnamed,
    site_packages,
)
from specchat_launcher.install import Engine
from specchat_launcher.models import ModelFiles
from specchat_launcher.planning import cpu_engine_spec
from specchat_launcher.profiles import load_profile, parse_profile
from specchat_launcher.spec import Hook, ServerSpec

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N"), include_characters="_-. "), min_size=1)
SPEC = ServerSpec(
    "0.32.0", Path("/e/env/bin/python"), Path("/e/cache"), Path("/m"), "m", "127.0.0.1", 1, None, (), (), None
)


def install(folder: Path, name: str, entry_points: str) -> None:
    """What pip leaves of a package that matters here."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def make_hook(folder: Path) -> Path:
    package = folder / "specchat_vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    install(folder, "specchat_vllm", "[vllm.general_plugins]\nspecchat = specchat_vllm:register\n")
    return folder


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an engine in whose environment several packages bring plugins."""
    packages = tmp_path / "engine/env/lib/python3.11/site-packages"
    install(packages, "patcher", "[console_scripts]\nx = y:z\n\n[vllm.general_plugins]\npatch = patcher:register\n")
    install(packages, "chip", "[vllm.platform_plugins]\nchip = chip:register\n")
    install(packages, "images", "[vllm.io_processor_plugins]\nimages = images:register\n")
    install(packages, "stats", "[vllm.stat_logger_plugins]\nstats = stats:Logger\n")
    install(packages, "routes", "[vllm.endpoint_plugins]\nroutes = routes:plugin\n")
    install(packages, "resolver", "[vllm.general_plugins]\nlora_hf_hub_resolver = vllm:register\n")
    return tmp_path / "engine/env/bin/python"


def test_every_plugin_that_would_be_loaded_unnamed_stays_loaded(python: Path) -> None:
    found = plugins_loaded_unnamed(site_packages(python))
    assert found == ("chip", "images", "patch", "stats")
    assert merged_names(None, found) == "chip,images,patch,stats,specchat,specchat_http"


def test_no_other_plugin_s_routes_are_opened(python: Path) -> None:
    assert "routes" not in plugins_loaded_unnamed(site_packages(python))


def test_a_plugin_for_which_a_name_is_consent_to_downloads_stays_unnamed(python: Path) -> None:
    assert "lora_hf_hub_resolver" not in plugins_loaded_unnamed(site_packages(python))
    assert merged_names("lora_hf_hub_resolver", ()) == "lora_hf_hub_resolver,specchat,specchat_http"


def test_names_that_are_set_are_kept_and_nothing_else_is_added(python: Path) -> None:
    found = plugins_loaded_unnamed(site_packages(python))
    assert merged_names("mine,patch", found) == "mine,patch,specchat,specchat_http"
    assert merged_names("specchat_http", found) == "specchat_http,specchat"
    assert merged_names("", found) == "specchat,specchat_http"


@given(st.lists(NAMES), st.lists(NAMES))
def test_merging_keeps_order_names_each_once_and_changes_nothing_the_second_time(
    current: list[str], found: list[str]
) -> None:
    merged = merged_names(",".join(current) if current else None, found)
    names = merged.split(",")
    kept = current or found
    assert [name for name in names if name in kept] == list(dict.fromkeys(kept))
    assert set(names) == {*kept, *HOOK_PLUGINS}
    assert len(set(names)) == len(names)
    assert merged_names(merged, found) == merged


def test_a_damaged_package_in_the_engine_is_left_to_vllm(python: Path) -> None:
    install(site_packages(python)[0], "broken", "[vllm.general_plugins]\nno equals sign\n")
    assert plugins_loaded_unnamed(site_packages(python)) == ("chip", "images", "patch", "stats")


def test_the_hook_comes_first_on_the_path_and_what_was_there_stays_behind_it(python: Path, tmp_path: Path) -> None:
    make_hook(tmp_path / "package/_bundled_hook")
    install(tmp_path / "more", "extra", "[vllm.general_plugins]\nextra = extra:register\n")
    environ = {"PYTHONPATH": f"{tmp_path / 'more'}{os.pathsep}/elsewhere"}
    hook = find_hook(python, environ, tmp_path / "package")
    added = hook_environment(environ, hook)
    assert added["PYTHONPATH"].split(os.pathsep) == [str(hook.folder), str(tmp_path / "more"), "/elsewhere"]
    assert added["VLLM_PLUGINS"] == "chip,extra,images,patch,stats,specchat,specchat_http"


@pytest.mark.parametrize("environ", [{}, {"PYTHONPATH": ""}])
def test_the_working_directory_never_gets_onto_the_path(environ: dict[str, str]) -> None:
    assert hook_environment(environ, Hook(Path("/h"), ()))["PYTHONPATH"] == "/h"


def test_a_server_without_the_hook_has_neither_variable() -> None:
    assert not {"PYTHONPATH", "VLLM_PLUGINS"} & set(server_environment(SPEC, {}))


def test_a_server_with_the_hook_keeps_its_own_names_and_none_of_the_user_s_shell() -> None:
    spec = replace(SPEC, hook=Hook(Path("/h"), ("found",)), environment=(("VLLM_PLUGINS", "own"),))
    env = server_environment(spec, {"VLLM_PLUGINS": "shell", "PYTHONPATH": "/shell"})
    assert (env["PYTHONPATH"], env["VLLM_PLUGINS"]) == ("/h", "own,specchat,specchat_http")


def test_a_python_that_gets_the_variables_finds_the_hook_first(tmp_path: Path) -> None:
    folder = make_hook(tmp_path / "hook")
    added = hook_environment(os.environ, Hook(folder, ()))
    code = (
        "import importlib.metadata as metadata, specchat_vllm\n"
        "print(specchat_vllm.__file__, *metadata.entry_points(group='vllm.general_plugins').names)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-s", "-c", code],
        env={**os.environ, **added},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[0] == str(folder / "specchat_vllm/__init__.py")
    assert "specchat" in done.stdout.split()[1:]


def test_the_hook_is_found_in_a_checkout_and_in_an_installed_package(tmp_path: Path) -> None:
    beside = make_hook(tmp_path / "specchat_vllm")
    assert hook_folder(tmp_path / "specchat_launcher") == beside
    inside = make_hook(tmp_path / "specchat_launcher/_bundled_hook")
    assert hook_folder(tmp_path / "specchat_launcher") == inside


def test_a_missing_hook_and_one_that_no_path_can_name_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(HookError, match="missing"):
        hook_folder(tmp_path)
    make_hook(tmp_path / "a:b/_bundled_hook")
    with pytest.raises(HookError, match="PYTHONPATH cannot"):
        hook_folder(tmp_path / "a:b")


@pytest.fixture
def engine(python: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine that is taken for whole."""
    monkeypatch.setattr("specchat_launcher.planning.why_broken", lambda *_: "")
    return Engine("0.32.0", python.parents[2], python)


MODELS = ModelFiles(Path("/models/target"), Path("/models/draft"))


def test_the_speculating_profile_has_the_hook_unless_the_user_says_otherwise(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_hook(tmp_path / "hook")
    monkeypatch.setattr("specchat_launcher.hook.hook_folder", lambda _package: folder)
    profile = load_profile("cpu-smollm2")
    spec = cpu_engine_spec(profile, engine, MODELS, 1)
    assert spec.hook == Hook(folder, ("chip", "images", "patch", "stats"))
    assert spec.notices == ()
    assert cpu_engine_spec(profile, engine, MODELS, 1, hook=False).hook is None
    assert cpu_engine_spec(load_profile("cpu-smollm2-baseline"), engine, MODELS, 1).hook is None


def test_a_profile_has_the_hook_without_saying_so() -> None:
    content = {"title": "t", "summary": "s", "engine": "e", "model": "m", "arguments": {}}
    assert parse_profile("p", content).hook is True
    assert parse_profile("p", content | {"hook": False}).hook is False


def test_a_server_starts_without_a_missing_hook_and_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_package: Path) -> Path:
        raise HookError("The hook is missing.", "Reinstall specchat.")

    monkeypatch.setattr("specchat_launcher.hook.hook_folder", missing)
    spec = cpu_engine_spec(load_profile("cpu-smollm2"), engine, MODELS, 1)
    assert spec.hook is None
    assert len(spec.notices) == 1
    assert "without the hook" in spec.notices[0]
    assert "Reinstall specchat." in spec.notices[0]
