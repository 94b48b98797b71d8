"""Starts a real engine with the hook and the witness, as `specchat serve` would start it, plus what a test adds."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

from specchat_launcher import RunningServer, readiness, server
from specchat_launcher.spec import ServerSpec
from traced_asking import Server, Witness

MODEL = "smollm2-135m-instruct"
_plain_plan = server.plan
WITNESS = Path(__file__).parent / "engine" / "witness"


@dataclass(frozen=True)
class Watched:
    """A running engine."""

    running: RunningServer
    witness: Witness

    def server(self, key: str | None = None) -> Server:
        """A client for it."""
        return Server(self.running.url, MODEL, key)

    @property
    def version(self) -> str:
        """The version of vLLM."""
        return self.running.engine_version

    def log(self) -> str:
        """What it has written so far."""
        return self.running.log_path.read_text(errors="replace")


@contextlib.contextmanager
def watched(
    version: str,
    root: Path,
    folder: Path,
    *,
    asynchronous: bool = False,
    hook: bool = True,
    witness: bool = True,
    key: str | None = None,
    environment: Mapping[str, str] | None = None,
    flags: tuple[str, ...] = (),
) -> Iterator[Watched]:
    """An engine for the length of a test.

    Args:
        version: Of the engine.
        root: The data directory.
        folder: The witness writes here.
        asynchronous: Force asynchronous scheduling.
        hook: Load the hook.
        witness: Keep the witness's record, which costs a little of every step.
        key: An API key that the server demands.
        environment: Further variables of the server.
        flags: Further arguments of the server.
    """
    record = folder / "witness.jsonl"
    watching = {"PYTHONPATH": str(WITNESS), "WITNESS_FILE": str(record)} if witness else {}
    added = watching | dict(environment or {})
    if asynchronous:
        added["WITNESS_ASYNC"] = "1"

    def with_witness(*args: object, **kwargs: object) -> ServerSpec:
        spec = _plain_plan(*args, **kwargs)  # type: ignore[arg-type]
        more = ("--max-num-seqs", "8", *(() if key is None else ("--api-key", key)), *flags)
        return replace(spec, flags=spec.flags + more, environment=(*spec.environment, *added.items()))

    with (
        mock.patch.object(server, "plan", with_witness),
        # The launcher asks without a key which model is served, and `/health`, which needs none.
        mock.patch.object(readiness, "served_models", return_value=(MODEL,)),
    ):
        starting = server.start_profile("cpu-smollm2", root=root, engine=version, hook=hook, report=lambda _: None)
    # Not under the patches: the engine may stand until the last test of all.
    with starting as running:
        yield Watched(running, Witness(record))


def is_alive(pid: int) -> bool:
    """Does a process with this id exist?"""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
