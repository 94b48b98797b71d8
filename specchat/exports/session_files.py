"""Writes a session as JSON (an array of reply objects) and CSV (a row a reply). Never overwrites."""

import csv
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, fields
from datetime import datetime
from io import StringIO
from pathlib import Path

from specchat.core.conversation import Conversation, Turn
from specchat.core.errors import ConfigurationError
from specchat.core.reply_figures import ReplyFigures, figures_of
from specchat.exports.reply_json import reply_object

_FIGURES = [field.name for field in fields(ReplyFigures) if field.name not in {"evidence", "per_position_rate"}]
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_session(conversation: Conversation, directory: Path, *, now: datetime | None = None) -> tuple[Path, Path]:
    """Write the turns of a session; returns the paths of the JSON and the CSV file.

    Args:
        conversation: What to write.
        directory: Where to; made if it is missing.
        now: The time for the files' name; the machine's local time if None.

    Raises:
        ConfigurationError: If nothing was said yet, or the directory cannot be written.
    """
    if not conversation.turns:
        raise ConfigurationError("There is nothing to export yet.", "Ask something first.")
    stamp = (now or datetime.now().astimezone()).strftime("%Y%m%d-%H%M%S")
    json_path = write_new(directory, f"specchat-{stamp}", ".json", session_json(conversation.turns))
    return json_path, write_new(directory, json_path.stem, ".csv", session_csv(conversation.turns))


def session_json(turns: Iterable[Turn]) -> str:
    """The turns as a JSON array, ASCII only, so that no control character survives in it."""
    return json.dumps([reply_object(turn) for turn in turns], indent=1) + "\n"


def session_csv(turns: Iterable[Turn]) -> str:
    """A row a reply with its figures; per-position rates in a column each, evidence beside the figures."""
    turns = list(turns)
    figures = [figures_of(turn.reply) for turn in turns]
    width = max((len(f.per_position_rate or ()) for f in figures), default=0)
    header = ["reply", "prompt", "model", "server", "version", "speculating", "outcome", "finish_reason", *_FIGURES]
    header += [f"position_{i}_rate" for i in range(1, width + 1)]
    header += ["acceptance_evidence", "check", "error", "replaced", "continues", "speculation_limit", "speculation_way"]
    lines = [header, *(_row(i, turn, figures[i], width) for i, turn in enumerate(turns))]
    return _to_csv(lines)


def _row(index: int, turn: Turn, figures: ReplyFigures, width: int) -> list[str]:
    reply, values = turn.reply, asdict(figures)
    rates = list(figures.per_position_rate or ())
    row: list[object] = [index + 1, turn.prompt, reply.model, turn.server.url, turn.server.version, reply.speculating]
    row += [str(reply.outcome), reply.finish_reason, *(values[name] for name in _FIGURES)]
    row += [rates[i] if i < len(rates) else None for i in range(width)]
    row += [figures.evidence["acceptance_length"], reply.check and str(reply.check.verdict)]
    row += [reply.error and reply.error.message, turn.replaced, turn.continues]
    row += [reply.speculation.limit, reply.speculation.way]
    return [_cell(value) for value in row]


def _cell(value: object) -> str:
    """Unknown is an empty cell; text that a spreadsheet would run as a formula is quoted."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return "'" + text if isinstance(value, str) and text.startswith(_FORMULA_STARTS) else text


def _to_csv(lines: Iterable[list[str]]) -> str:
    sink = StringIO()
    csv.writer(sink, lineterminator="\r\n").writerows(lines)
    return sink.getvalue()


def write_new(directory: Path, stem: str, suffix: str, text: str) -> Path:
    """Write to a name that is free, readable by its owner alone; returns the path.

    Args:
        directory: Where; made if it is missing.
        stem: The name, to which a number is added where it is taken.
        suffix: With its dot.
        text: What to write.

    Raises:
        ConfigurationError: If the directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return _write_new(directory, stem, suffix, text)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write to {directory}: {error.strerror}.", "Choose another folder with --export-dir."
        ) from error


def _write_new(directory: Path, stem: str, suffix: str, text: str) -> Path:
    number = 1
    while True:
        path = directory / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(handle, "w", encoding="utf-8", newline="", errors="replace") as file:
            file.write(text)
        return path
