"""How pip is called, and what its failures mean to the user."""

from pathlib import Path

import pytest

from specchat_launcher.errors import DiskSpaceError, InstallError, NetworkError
from specchat_launcher.pip import Needed, explain_failure, install_argv, packages_seen, pip_environment

NEEDED = Needed("engine 0.32.0", Path("/data"), 3_000_000_000)
UNREACHED_EXTRA = (
    "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('<x>: Failed to establish a new "
    "connection: [Errno -2] Name or service not known')': /whl/cpu/torch/\n"
)


def test_settings_about_the_index_pass_and_all_others_stay_behind(tmp_path: Path) -> None:
    user = {
        "PIP_INDEX_URL": "https://mirror.example/simple",
        "PIP_CERT": "/etc/ca.pem",
        "PIP_TARGET": "/elsewhere",
        "PIP_USER": "1",
        "PIP_CONSTRAINT": "/c.txt",
        "PYTHONPATH": "/p",
        "HTTPS_PROXY": "http://proxy:3128",
        "HOME": "/home/u",
    }
    env = pip_environment(user, tmp_path)
    assert env["PIP_INDEX_URL"] == "https://mirror.example/simple"
    assert env["PIP_CERT"] == "/etc/ca.pem"
    assert env["HTTPS_PROXY"] == "http://proxy:3128"
    assert env["TMPDIR"] == str(tmp_path)
    assert not {"PIP_TARGET", "PIP_USER", "PIP_CONSTRAINT", "PYTHONPATH"} & set(env)


def test_only_the_call_for_torch_asks_the_extra_index() -> None:
    python, requirements = Path("/env/bin/python"), Path("/r.txt")
    assert "--extra-index-url" not in install_argv(python, requirements, None)
    with_index = install_argv(python, requirements, "https://index.example/cpu")
    assert with_index[with_index.index("--extra-index-url") + 1] == "https://index.example/cpu"
    assert "--no-deps" in with_index


def test_an_extra_index_out_of_reach_is_not_the_reason_when_the_pin_is_at_fault() -> None:
    log = UNREACHED_EXTRA + (
        "ERROR: Could not find a version that satisfies the requirement torch==9 (from versions: 2.1.0, 2.2.0)\n"
        "ERROR: No matching distribution found for torch==9\n"
    )
    error = explain_failure(log, Path("/log"), NEEDED)
    assert isinstance(error, InstallError)
    assert "No matching distribution found for torch==9" in error.message


def test_an_index_that_answers_nothing_is_a_network_failure_with_its_reason() -> None:
    log = UNREACHED_EXTRA + "ERROR: Could not find a version that satisfies torch==2.13.0+cpu (from versions: none)\n"
    error = explain_failure(log, Path("/log"), NEEDED)
    assert isinstance(error, NetworkError)
    assert "Name or service not known" in error.message


@pytest.mark.parametrize("line", ["OSError: [Errno 28] No space left on device", "[Errno 122] Disk quota exceeded"])
def test_a_disk_that_fills_up_meanwhile_is_told_apart(line: str) -> None:
    error = explain_failure(f"ERROR: Could not install packages due to an OSError: {line}", Path("/log"), NEEDED)
    assert isinstance(error, DiskSpaceError)
    assert "/data" in error.message
    assert "SPECCHAT_DATA_DIR" in error.hint


def test_a_failure_without_a_word_points_at_the_log() -> None:
    error = explain_failure("", Path("/logs/install.log"), NEEDED)
    assert "pip gave no reason" in error.message
    assert "/logs/install.log" in error.hint


def test_packages_are_counted_from_both_kinds_of_line() -> None:
    log = (
        "Collecting one==1\n  Downloading one.whl\nProcessing /mirror/two-1.whl (from -r r.txt)\nCollecting three==3\n"
    )
    assert packages_seen(log) == ["one==1", "/mirror/two-1.whl", "three==3"]
