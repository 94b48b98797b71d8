"""The file that a comparison grows in: a head, then a line for each sample as soon as it is measured.

A program that is killed loses nothing but the reply that ran. Of several files of one name the others are numbered and
never touched again.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from specchat.core.comparison.samples import Sample
from specchat.core.errors import ConfigurationError
from specchat.core.harmless import one_line
from specchat.exports.sample_json import sample_from, sample_object

SCHEMA = "specchat.samples/1"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file of samples holds."""

    fingerprint: str
    """Of the comparison that they belong to."""
    started: str
    """When it was begun, as its head says."""
    samples: tuple[Sample, ...]
    off_meant: str = ""
    """What switching off turned out to mean, where a trace told."""
    notes: tuple[str, ...] = ()
    """What else was said, a sentence each."""
    head: Mapping[str, object] = field(default_factory=dict)
    """All of the first line."""


class SampleFile:
    """An open file of samples; use as a context manager."""

    def __init__(self, path: Path, sink: TextIO) -> None:
        self.path = path
        self._sink = sink

    def __enter__(self) -> "SampleFile":
        return self

    def __exit__(self, *_: object) -> None:
        # What could not be written was said when it was added.
        with suppress(OSError):
            self._sink.close()

    def add(self, sample: Sample) -> None:
        """Write a sample down, on the disk before this returns.

        Raises:
            ConfigurationError: If there is no room left, or the disk is gone.
        """
        self._write({"sample": sample_object(sample)})

    def add_meaning(self, sentence: str) -> None:
        """Write down what switching off turned out to mean."""
        self._write({"off_meant": sentence})

    def add_notes(self, notes: Sequence[str]) -> None:
        """Write down what else a reader should know."""
        self._write({"notes": list(notes)})

    def _write(self, value: Mapping[str, object]) -> None:
        try:
            # ASCII, so that no half character can be at the end of a file that broke off.
            self._sink.write(json.dumps(value) + "\n")
            self._sink.flush()
        except OSError as error:
            raise _unwritable(self.path, error) from error


def read_samples(path: Path) -> Kept | None:
    """What was measured; None where there is no such file. A last line that was cut off is left out.

    Raises:
        ConfigurationError: If it cannot be read, or is another kind of file.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(
            f"{one_line(str(path), 200)} cannot be read: {error.strerror or error}.",
            "Name another file with --samples.",
        ) from error
    values = [value for line in lines if (value := _value(line)) is not None]
    if not values or values[0].get("schema") != SCHEMA:
        raise ConfigurationError(
            f"{one_line(str(path), 200)} is no file of samples that this specchat knows.",
            "Name another file with --samples; this one is left as it is.",
        )
    samples, meant = [], ""
    notes: tuple[str, ...] = ()
    for value in values[1:]:
        noted = value.get("notes")
        notes = tuple(map(str, noted)) if isinstance(noted, list) else notes
        said = value.get("off_meant")
        meant = said if isinstance(said, str) else meant
        sample = value.get("sample")
        if isinstance(sample, dict):
            try:
                samples.append(sample_from(sample))
            except ValueError:
                continue  # the reply is asked for again
    return Kept(
        str(values[0].get("fingerprint", "")),
        str(values[0].get("started", "")),
        tuple(samples),
        meant,
        notes,
        values[0],
    )


def begin(path: Path, fingerprint: str, started: str, head: Mapping[str, object]) -> SampleFile:
    """A new file; one of that name is renamed first, to the first free number.

    Args:
        path: Where; its folder is made if it is missing.
        fingerprint: Of the comparison.
        started: The time, for people.
        head: What else the first line says: plan and servers.

    Raises:
        ConfigurationError: If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.rename(_free(path))
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        file = SampleFile(path, os.fdopen(handle, "w", encoding="ascii"))
    except OSError as error:
        raise _unwritable(path, error) from error
    file._write({"schema": SCHEMA, "fingerprint": fingerprint, "started": started, **head})  # noqa: SLF001 - same module
    return file


def go_on(path: Path) -> SampleFile:
    """The same file, to be added to.

    Raises:
        ConfigurationError: If it cannot be written.
    """
    try:
        broken = bool(path.stat().st_size) and not path.read_bytes().endswith(b"\n")
        sink = path.open("a", encoding="ascii")
        if broken:
            sink.write("\n")
    except OSError as error:
        raise _unwritable(path, error) from error
    return SampleFile(path, sink)


def _value(line: str) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _free(path: Path) -> Path:
    number = 1
    while (other := path.with_name(f"{path.stem}-{number}{path.suffix}")).exists():
        number += 1
    return other


def _unwritable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The samples cannot be written to {one_line(str(path), 200)}: {error.strerror or error}.",
        "Make room, or name another file with --samples.",
    )
