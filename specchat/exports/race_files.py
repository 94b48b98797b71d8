"""Keeps the runs of a race: a file of samples as `specchat compare` writes them, begun with the first one."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from specchat.core.comparison.record import Record
from specchat.core.comparison.samples import Sample
from specchat.exports.compare_json import compare_object
from specchat.exports.compare_markdown import compare_markdown
from specchat.exports.sample_file import begin, go_on
from specchat.exports.session_files import write_new


class RaceFile:
    """The samples of one race. Nothing is written before there is one."""

    def __init__(self, directory: Path, describe: Callable[[], tuple[str, Mapping[str, object]]]) -> None:
        """Write nothing yet.

        Args:
            directory: Where; made if it is missing.
            describe: Tells the fingerprint of the comparison and the rest of the first line. A sample of another
                fingerprint than the one before begins another file.
        """
        self._directory = directory
        self._describe = describe
        self.path: Path | None = None
        """The file that was written last; None before there is one."""
        self.started = ""
        """When it was begun, as ISO 8601; "" before."""
        self._fingerprint = ""

    def add(self, sample: Sample) -> None:
        """Write a sample down, on the disk before this returns. No file stays open.

        Raises:
            ConfigurationError: If it cannot be written.
        """
        fingerprint, head = self._describe()
        if self.path is None or fingerprint != self._fingerprint:
            now = datetime.now().astimezone()
            self.started, self._fingerprint = now.isoformat(timespec="seconds"), fingerprint
            self.path = self._directory / f"race-{now:%Y%m%d-%H%M%S}.jsonl"
            file = begin(self.path, fingerprint, self.started, head)
        else:
            file = go_on(self.path)
        with file:
            file.add(sample)


def write_race(record: Record, directory: Path) -> tuple[Path, Path]:
    """Write a comparison as JSON and as Markdown; returns both paths. Overwrites nothing.

    Raises:
        ConfigurationError: If the directory cannot be written.
    """
    text = json.dumps(compare_object(record), indent=1) + "\n"
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    json_path = write_new(directory, f"specchat-compare-{stamp}", ".json", text)
    return json_path, write_new(directory, json_path.stem, ".md", compare_markdown(record))
