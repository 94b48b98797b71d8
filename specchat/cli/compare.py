"""`specchat compare`: measures with and without speculation over a file of prompts, and prints what it brings."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TextIO
from uuid import uuid4

from specchat.cli.compare_servers import opponents, refuse_changed
from specchat.cli.compare_table import RunDisplay, print_result
from specchat.cli.summary import failure_line
from specchat.config import paths
from specchat.config.prompt_files import read_prompts
from specchat.core.comparison.plan import Plan
from specchat.core.comparison.record import Record
from specchat.core.comparison.samples import Sample, Side
from specchat.core.errors import ConfigurationError, SpecchatError
from specchat.core.harmless import one_line
from specchat.exports.compare_html import compare_html
from specchat.exports.compare_json import compare_object
from specchat.exports.compare_markdown import compare_markdown
from specchat.exports.sample_file import Kept, SampleFile, begin, go_on, read_samples
from specchat.session.comparing import Comparing, Ending
from specchat.session.opponents import Opponents
from specchat.theming import load_theme
from specchat.theming.page import page_colors
from specchat.wiring import Connection

DEFAULT_MAX_TOKENS = 256
DEFAULT_TEMPERATURE = 0.0
_FAILED, _INTERRUPTED = 1, 130


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asks for, besides the connection and its sampling."""

    prompts: Path
    repeats: int = 3
    concurrency: int = 1
    warm_up: int = 2
    fixed_length: bool = False
    as_json: bool = False
    markdown: Path | None = None
    html: Path | None = None
    samples: Path | None = None
    resume: bool | None = None
    """True goes on with what there is, False begins anew, None goes on with what is not whole."""
    baseline_model: str | None = None
    allow_speculating_baseline: bool = False
    idle_limit_seconds: float = 300.0
    settle_s: float | None = None
    """None takes what two servers of one machine need, and no rest elsewhere."""


def run_compare(connection: Connection, wishes: Wishes, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Compare, and print and write what came of it.

    Returns:
        0 for a whole comparison, 1 where a server was lost or nothing could be compared, 130 if stopped.

    Raises:
        SpecchatError: Before anything is measured, if something is wrong with prompts, files or servers.
    """
    out, err = out or sys.stdout, err or sys.stderr
    _require_places(wishes)
    plan = plan_of(connection, wishes)
    record = asyncio.run(_compare(connection, plan, wishes, err))
    _write(record, wishes, out)
    if record.error is not None:
        err.write(failure_line(record.error) + "\n")
        return _FAILED
    if record.ending == Ending.INTERRUPTED:
        return _INTERRUPTED
    return 0 if record.result.total.speed.pairs else _FAILED


def plan_of(connection: Connection, wishes: Wishes) -> Plan:
    """What is to be done.

    Raises:
        ConfigurationError: If the file of prompts cannot be read, or a number makes no sense.
    """
    settings = connection.settings
    return Plan(
        prompts=read_prompts(wishes.prompts),
        repeats=wishes.repeats,
        max_tokens=DEFAULT_MAX_TOKENS if settings.max_tokens is None else settings.max_tokens,
        fixed_length=wishes.fixed_length,
        concurrency=wishes.concurrency,
        warm_up=wishes.warm_up,
        seed=settings.seed or 0,
        temperature=DEFAULT_TEMPERATURE if settings.temperature is None else settings.temperature,
        top_p=settings.top_p,
        stop=connection.stop,
        system=settings.system,
    )


async def _compare(connection: Connection, plan: Plan, wishes: Wishes, err: TextIO) -> Record:
    async with opponents(
        connection,
        baseline_model=wishes.baseline_model,
        allow_speculating=wishes.allow_speculating_baseline,
    ) as sides:
        plan = replace(plan, settle_s=sides.settle_s if wishes.settle_s is None else wishes.settle_s)
        fingerprint = plan.fingerprint(sides.identity())
        path = _samples_path(wishes, fingerprint)
        kept = _earlier(path, fingerprint, plan, wishes)
        if kept is not None:
            servers = kept.head.get("servers")
            refuse_changed(servers if isinstance(servers, dict) else {}, sides.facts())
        begun = Kept(fingerprint, _now(), ()) if kept is None else kept
        if kept is not None:
            have = f"{len(_final(kept.samples))} of {plan.total} replies are measured"
            err.write(f"note: goes on with the comparison of {one_line(kept.started, 40)}: {have}\n")
        with _opened(path, begun, plan, sides, is_new=kept is None) as file, RunDisplay(err, sides.names) as display:
            comparing = Comparing(
                plan,
                sides.parties,
                clock=time.monotonic,
                wall_clock=time.time,
                new_key=lambda: uuid4().hex,
                earlier=begun.samples,
                keep=file.add,
                tell=display.show,
                idle_limit_seconds=wishes.idle_limit_seconds,
            )
            ending, error = await _run(comparing, file)
            notes = _said(comparing, sides, begun)
            # The next run would say them again anyway.
            with suppress(ConfigurationError):
                file.add_notes(notes)
        err.write(f"note: every reply measured is in {one_line(str(path), 300)}\n")
        meant = comparing.off_meant or begun.off_meant
        return Record(
            plan,
            sides.servers,
            sides.way,
            tuple(comparing.samples),
            fingerprint,
            source=one_line(wishes.prompts.name, 200),
            off_meant=meant,
            notes=[*sides.notes(plan, meant), *notes],
            ending=str(ending),
            error=error,
            started=begun.started,
            finished=_now(),
        )


def _said(comparing: Comparing, sides: Opponents, begun: Kept) -> list[str]:
    """What the replies had to say, each sentence once, with the name of its side."""
    now = [f"{sides.names[side]}: {one_line(note, 300)}" for side, said in comparing.said.items() for note in said]
    return list(dict.fromkeys([*begun.notes, *now]))


async def _run(comparing: Comparing, file: SampleFile) -> tuple[Ending, SpecchatError | None]:
    with _stopped_by_signals(comparing.stop):
        try:
            ending, error = await comparing.run(), comparing.lost
            if comparing.off_meant:
                file.add_meaning(comparing.off_meant)
        except SpecchatError as failure:
            # A sample could not be kept: what was measured is still told.
            return Ending.INTERRUPTED, failure
    return ending, error


def _write(record: Record, wishes: Wishes, out: TextIO) -> None:
    if wishes.as_json:
        out.write(json.dumps(compare_object(record), indent=1) + "\n")
    else:
        print_result(record, out)
    if wishes.markdown is not None:
        _write_file(wishes.markdown, compare_markdown(record))
    if wishes.html is not None:
        colors = (page_colors(load_theme(name)) for name in ("light", "dark"))
        _write_file(wishes.html, compare_html(compare_object(record), *colors))


def _samples_path(wishes: Wishes, fingerprint: str) -> Path:
    """Where samples are kept: as named, else beside the first file that is written, else with the program's data."""
    if wishes.samples is not None:
        return wishes.samples
    beside = wishes.markdown or wishes.html
    if beside is not None:
        return beside.with_name(f"{beside.stem}.samples.jsonl")
    return paths.comparisons_directory() / f"{fingerprint[:16]}.jsonl"


def _earlier(path: Path, fingerprint: str, plan: Plan, wishes: Wishes) -> Kept | None:
    """What was measured before and is gone on with; None where the comparison begins anew.

    Raises:
        ConfigurationError: If the file holds another comparison, or nothing to resume.
    """
    if wishes.resume is False:
        return None
    kept = read_samples(path)
    shown = one_line(str(path), 200)
    if kept is None:
        if wishes.resume:
            raise ConfigurationError(f"There is nothing to resume: {shown} is missing.", "Leave --resume out.")
        return None
    if kept.fingerprint != fingerprint:
        whole = "Give the same prompts, settings and servers as then, or --fresh to begin anew (the file is kept)."
        raise ConfigurationError(f"{shown} holds another comparison, whose replies cannot be added to this one.", whole)
    is_whole = len(_final(kept.samples)) >= plan.total
    return None if is_whole and not wishes.resume else kept


def _final(samples: Sequence[Sample]) -> set[tuple[int, int, Side]]:
    """The samples that need not be asked for again."""
    return {(one.prompt, one.repeat, one.side) for one in samples if one.is_final}


def _opened(path: Path, begun: Kept, plan: Plan, sides: Opponents, *, is_new: bool) -> SampleFile:
    if not is_new:
        return go_on(path)
    settings = {"repeats": plan.repeats, "max_tokens": plan.max_tokens, "prompts": len(plan.prompts), "seed": plan.seed}
    return begin(
        path, begun.fingerprint, begun.started, {"settings": settings, **sides.identity(), "servers": sides.facts()}
    )


@contextmanager
def _stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """While open, Ctrl-C and SIGTERM end the run and not the program, so that what was measured is told."""
    loop, added = asyncio.get_running_loop(), []
    for number in (signal.SIGINT, signal.SIGTERM):
        # Not on every platform, nor in a thread: Ctrl-C does what it always does there.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop)
            added.append(number)
    try:
        yield
    finally:
        for number in added:
            loop.remove_signal_handler(number)


def _require_places(wishes: Wishes) -> None:
    """Refuse reports that cannot be written where they are to be, or that would overwrite each other or the samples.

    Raises:
        ConfigurationError: If it is so.
    """
    reports = [file for file in (wishes.markdown, wishes.html) if file is not None]
    for file in reports:
        _require_folder(file)
    files = [file.absolute() for file in (*reports, *([] if wishes.samples is None else [wishes.samples]))]
    if len(set(files)) < len(files):
        raise ConfigurationError(
            "Two of --markdown, --html and --samples name the same file.", "Give each a file of its own."
        )


def _require_folder(file: Path) -> None:
    """A run takes long: what cannot be written at its end is better said at its beginning.

    Raises:
        ConfigurationError: If the file's folder is missing, or it is a folder itself.
    """
    if file.is_dir() or not file.parent.is_dir():
        raise ConfigurationError(
            f"{one_line(str(file), 200)} cannot be written.", "Name a file in a folder that exists."
        )


def _write_file(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigurationError(
            f"{one_line(str(file), 200)} cannot be written: {error.strerror or error}.",
            "The samples are kept: the same command with --resume writes it without measuring again.",
        ) from error


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
