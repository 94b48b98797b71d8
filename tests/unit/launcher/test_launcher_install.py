"""Engines are installed once, repaired when broken, and never half there."""

import dataclasses
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

import specchat_launcher
from specchat_launcher import install as install_module
from specchat_launcher.engine_specs import EngineSpec
from specchat_launcher.errors import (
    DiskSpaceError,
    EngineBusyError,
    InstallError,
    LauncherError,
    NetworkError,
    UnknownNameError,
    UnsupportedPlatformError,
)
from specchat_launcher.install import install, install_meter, list_engines, remove_engine, why_broken
from specchat_launcher.lock import locked
from specchat_launcher.paths import DataLayout
from specchat_launcher.platform_check import Machine
from specchat_launcher.progress import Phase, Progress
from specchat_launcher.supervisor import process_table
from unit.launcher.conftest import gone_within

INSTALLER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from specchat_launcher.engine_specs import EngineSpec
from specchat_launcher.install import install
spec = EngineSpec("0.32.0", ("tiny-server==1.0",), ("tiny_torch==1.0",), None, 1000, 1000)
install(spec, Path(sys.argv[2]), lambda progress: print(progress.phase.value, flush=True))
"""


def silent(_progress: Progress) -> None:
    pass


@pytest.fixture
def installed(installed_template: Path, supported: None, tmp_path: Path) -> Path:
    """A data directory of its own with the tiny engine in it."""
    del supported
    shutil.copytree(installed_template, tmp_path / "data", symlinks=True)
    return tmp_path / "data"


def test_an_engine_is_made_from_nothing_in_an_environment_of_its_own(
    tiny_engine: EngineSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_module, "engine_python", lambda: Path(sys.executable))
    engine = install(tiny_engine, tmp_path / "data", silent)
    question = "import sys, tiny_torch; print(sys.prefix)"
    answer = subprocess.run([engine.python, "-c", question], capture_output=True, check=True, text=True)
    assert answer.stdout.strip() == str(engine.directory / "env")


def test_an_engine_is_installed_once_and_then_found(installed: Path, tiny_engine: EngineSpec) -> None:
    seen: list[Progress] = []
    engine = install(tiny_engine, installed, seen.append)
    assert not seen
    answer = subprocess.run(
        [engine.python, "-c", "import tiny_server, tiny_torch; print(tiny_torch.VALUE)"],
        capture_output=True,
        check=True,
    )
    assert answer.stdout == b"1\n"
    assert not (engine.directory / "tmp").exists()


def test_the_user_s_own_pip_settings_do_not_bend_the_environment(
    tiny_engine: EngineSpec, supported: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del supported
    monkeypatch.setenv("PIP_TARGET", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    install(tiny_engine, tmp_path / "data", silent)
    assert not (tmp_path / "elsewhere").exists()


def test_progress_only_ever_moves_forward(tiny_engine: EngineSpec, supported: None, tmp_path: Path) -> None:
    del supported
    seen: list[Progress] = []
    install(tiny_engine, tmp_path / "data", seen.append)
    fractions = [moment.fraction for moment in seen if moment.phase is Phase.INSTALLING and moment.fraction is not None]
    assert fractions == sorted(fractions)
    assert fractions[-1] > 0.9
    assert seen[0].phase is Phase.CHECKING


def test_bytes_that_arrive_move_the_progress_before_any_package_is_there(tmp_path: Path) -> None:
    spec = EngineSpec("0.32.0", ("one==1", "two==1"), (), None, 0, download_bytes=1000)
    measure = install_meter(spec, tmp_path, [])
    before = measure().fraction
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "one.whl").write_bytes(b"x" * 500)
    after = measure().fraction
    assert before == 0
    assert after is not None
    assert 0 < after < 0.5


@pytest.mark.parametrize(
    ("damage", "note"),
    [
        (lambda engine: (engine / "installed.json").unlink(), "broken off"),
        (lambda engine: (engine / "installed.json").write_text("{"), "broken off"),
        (lambda engine: (engine / "env" / "bin" / "python").unlink(), "Python is gone"),
        (lambda engine: shutil.rmtree(next(engine.glob("env/lib/*/site-packages/tiny_torch-*"))), "tiny-torch"),
    ],
)
def test_damage_is_seen_and_repaired(
    installed: Path, tiny_engine: EngineSpec, damage: Callable[[Path], object], note: str
) -> None:
    layout = DataLayout(installed)
    damage(layout.engine("0.32.0"))
    assert note in why_broken(tiny_engine, layout)
    engine = install(tiny_engine, installed, silent)
    assert not why_broken(tiny_engine, layout)
    subprocess.run([engine.python, "-c", "import tiny_torch"], check=True)


def test_another_list_of_packages_makes_the_engine_anew(installed: Path, tiny_engine: EngineSpec) -> None:
    changed = dataclasses.replace(tiny_engine, torch_packages=())
    assert "another list" in why_broken(changed, DataLayout(installed))
    install(changed, installed, silent)
    assert not list((installed / "engines").glob("0.32.0/env/lib/*/site-packages/tiny_torch"))


def test_an_installation_killed_in_the_middle_leaves_no_process_and_is_repaired(
    tiny_engine: EngineSpec, supported: None, tmp_path: Path
) -> None:
    del supported
    root = tmp_path / "data"
    launcher = str(Path(specchat_launcher.__file__).parents[1])
    before = set(process_table())
    app = subprocess.Popen([sys.executable, "-c", INSTALLER, launcher, str(root)], stdout=subprocess.PIPE, text=True)
    assert app.stdout is not None
    for line in app.stdout:
        if line.strip() == "creating":
            break
    started = {entry.pid for entry in process_table().values() if str(root) in _command(entry.pid)} - before
    app.send_signal(signal.SIGKILL)
    app.communicate()
    assert started
    assert gone_within(started, 15)
    assert list_engines(root)[0].state == "broken"
    engine = install(tiny_engine, root, silent)
    subprocess.run([engine.python, "-c", "import tiny_torch"], check=True)


def test_a_cancelled_installation_leaves_no_process_and_no_complete_engine(
    tiny_engine: EngineSpec, supported: None, tmp_path: Path
) -> None:
    del supported
    root = tmp_path / "data"

    def cancel_in_pip(progress: Progress) -> None:
        if progress.phase is Phase.INSTALLING:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install(tiny_engine, root, cancel_in_pip)
    assert not [pid for pid in process_table() if str(root) in _command(pid)]
    assert why_broken(tiny_engine, DataLayout(root))


def test_two_installations_at_once_wait_for_each_other(
    tiny_engine: EngineSpec, supported: None, tmp_path: Path
) -> None:
    del supported
    seen: list[list[Progress]] = [[], []]
    threads = [
        threading.Thread(target=install, args=(tiny_engine, tmp_path / "data", moments.append)) for moments in seen
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not why_broken(tiny_engine, DataLayout(tmp_path / "data"))
    waited, worked = sorted(seen, key=lambda moments: any(m.phase is Phase.INSTALLING for m in moments))
    assert {moment.phase for moment in waited} == {Phase.WAITING}
    assert "another specchat" in waited[0].detail
    assert Phase.WAITING not in {moment.phase for moment in worked}


def test_a_full_disk_is_refused_before_anything_is_fetched(
    tiny_engine: EngineSpec, supported: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del supported
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10**12, 10**12, 5 * 10**8))
    hungry = dataclasses.replace(tiny_engine, disk_bytes=3 * 10**9)
    with pytest.raises(DiskSpaceError, match=r"needs 3\.0 GB free in .*data, and there is 0\.5 GB\. Free some space"):
        install(hungry, tmp_path / "data", silent)
    assert not list((tmp_path / "data" / "engines").iterdir())


def test_no_network_is_said_in_one_sentence(
    tiny_engine: EngineSpec, supported: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del supported
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(NetworkError, match=r"does not answer \(Connection refused\)\. Check the network"):
        install(tiny_engine, tmp_path / "data", silent)


def test_a_package_the_index_lacks_is_named(tiny_engine: EngineSpec, supported: None, tmp_path: Path) -> None:
    del supported
    unknown = dataclasses.replace(tiny_engine, packages=("tiny-server==2.0",))
    with pytest.raises(InstallError, match=r"No matching distribution found for tiny-server==2\.0"):
        install(unknown, tmp_path / "data", silent)


def test_an_unsupported_machine_is_refused_without_touching_the_disk(
    tiny_engine: EngineSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_module, "this_machine", lambda: Machine("Darwin", "arm64", frozenset(), None))
    with pytest.raises(UnsupportedPlatformError, match="specchat --url URL"):
        install(tiny_engine, tmp_path / "data", silent)
    assert not (tmp_path / "data").exists()


def test_the_list_names_every_known_version_and_what_is_wrong(installed: Path) -> None:
    (installed / "engines" / "0.9.9").mkdir()
    by_version = {engine.version: engine for engine in list_engines(installed)}
    assert by_version["0.27.1"].state == "absent"
    assert by_version["0.27.1"].size_bytes is None
    assert by_version["0.9.9"].state == "broken"
    # The tiny engine is not made from the pins that ship, and the list says so.
    assert "another list" in by_version["0.32.0"].note


def test_an_installed_engine_is_listed_with_its_size_and_python(
    installed: Path, tiny_engine: EngineSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_module, "engine_spec", lambda _version: tiny_engine)
    found = list_engines(installed)[0]
    assert found.state == "installed"
    assert found.size_bytes is not None
    assert found.size_bytes > 1000
    assert found.python is not None
    assert found.python.startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")


def test_removing_takes_the_engine_away_and_only_once(installed: Path) -> None:
    remove_engine("0.32.0", installed)
    assert not list((installed / "engines").iterdir())
    with pytest.raises(UnknownNameError):
        remove_engine("0.32.0", installed)


@pytest.mark.parametrize("name", ["", "..", "../engines", ".trash-1", "/etc"])
def test_nothing_outside_the_engines_can_be_removed(installed: Path, name: str) -> None:
    with pytest.raises(UnknownNameError):
        remove_engine(name, installed)


def test_an_engine_that_a_server_runs_from_is_not_removed(installed: Path) -> None:
    layout = DataLayout(installed)
    with locked(layout.engine_lock("0.32.0"), shared=True, on_wait=lambda _pid: None), pytest.raises(EngineBusyError):
        remove_engine("0.32.0", installed)
    assert layout.engine("0.32.0").is_dir()


def test_a_newer_version_on_the_index_is_not_taken(installed: Path) -> None:
    found = (installed / "engines" / "0.32.0" / "env").glob("lib/*/site-packages/tiny_server-*.dist-info")
    assert [path.name for path in found] == ["tiny_server-1.0.dist-info"]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "there is too little. Free some space"), (errno.EACCES, "cannot be written: Permission denied")],
)
def test_a_disk_that_fails_meanwhile_is_explained(
    tiny_engine: EngineSpec, supported: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    del supported

    def fail(_path: Path, _content: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("specchat_launcher.files.write_json", fail)
    with pytest.raises(LauncherError, match=said):
        install(tiny_engine, tmp_path / "data", silent)
    assert why_broken(tiny_engine, DataLayout(tmp_path / "data"))
