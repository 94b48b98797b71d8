"""A server once more, as it was but for its speculation: what that takes, and why it cannot be where it cannot.

Owns what is changed in the profile for it, and what must be known of the launch before. Stops and starts nothing.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from specchat_launcher.errors import LauncherError
from specchat_launcher.profiles import Profile, load_profile, profile_names
from specchat_launcher.registry import READY, Owner, ServerRecord, servers
from specchat_launcher.spec import KEY_VARIABLE, Origin
from specchat_launcher.supervisor import process_table

WITHOUT_SPECULATION = (
    "speculation=false",
    # As in the baselines: nothing to trace and nothing to switch, so the server is best left as it ships.
    "hook=false",
    # vLLM refuses to start with it where nothing speculates.
    "arguments.per-request-spec-decode-metrics=false",
    "expected.draft_backend=false",
    "expected.acceptance_length=false",
)
"""Changes that make of any profile its baseline."""


def speculation_changes(tokens: int | None) -> tuple[str, ...]:
    """The changes that give a profile other speculation, as `--set` takes them.

    Args:
        tokens: Proposals for each step; 0 for none, None for what the profile has.
    """
    if tokens is None:
        return ()
    return (f"speculation.tokens={tokens}",) if tokens else WITHOUT_SPECULATION


def profile_anew(record: ServerRecord, tokens: int | None, *, user_folder: Path | None = None) -> Profile:
    """The profile to launch in a server's place: the same one with the same changes, but for its speculation.

    Args:
        record: The server.
        tokens: Proposals for each step; 0 for none, None for as it was first launched.
        user_folder: The folder of the user's own profiles; None for the usual one.

    Raises:
        LauncherError: The profile cannot be loaded any more, or what it was launched with is not known.
    """
    origin = _origin(record)
    changes = (*origin.changes, *speculation_changes(tokens))
    if origin.python and not any(change.partition("=")[0].strip() == "python" for change in changes):
        changes = (*changes, f"python={origin.python}")
    profile = load_profile(record.profile, user_folder=user_folder, changes=changes)
    if tokens and profile.speculation is None:
        raise LauncherError(f"{record.profile} has no speculation.", "Launch a profile that has.")
    # What is kept for the next time is what the user gave.
    return replace(profile, changes=origin.changes, tokens_anew=tokens)


def why_not_anew(
    record: ServerRecord, *, user_folder: Path | None = None, environ: Mapping[str, str] = os.environ
) -> str:
    """Why a server cannot be launched anew with other speculation, as a sentence; "" where it can.

    Args:
        record: The server.
        user_folder: The folder of the user's own profiles; None for the usual one.
        environ: The environment that it would be launched from.
    """
    if record.owner is Owner.APP and not belongs_here(record):
        return f"{record.id} belongs to another specchat and ends with it, so only that one can launch it anew."
    if record.key_needed and not environ.get(KEY_VARIABLE):
        return f"{record.id} was launched with an API key, and {KEY_VARIABLE} is not set here."
    try:
        first = profile_anew(record, None, user_folder=user_folder)
    except LauncherError as error:
        return error.message
    return "" if first.speculation is not None else f"{record.profile} has no speculation that could be switched."


def belongs_here(record: ServerRecord) -> bool:
    """Whether a server dies with this very process, which is the parent of its supervisor."""
    entry = process_table(only=record.supervisor.pid).get(record.supervisor.pid)
    return entry is not None and entry.started == record.supervisor.start_ticks and entry.parent == os.getpid()


def partner_of(record: ServerRecord, root: Path, *, user_folder: Path | None = None) -> ServerRecord | None:
    """The server without speculation that forms a pair with this one, if some profile joins the two and it is ready.

    Two that were launched with different changes are no pair: they would be compared for more than their speculation.

    Args:
        record: A server that speculates.
        root: The data directory.
        user_folder: The folder of the user's own profiles; None for the usual one.
    """
    if not record.speculation:
        return None
    others = _joined_with(record.profile, user_folder)
    if not others:
        return None
    for other in servers(root):
        same = record.origin is None or other.origin is None or _shared(record.origin) == _shared(other.origin)
        if other.profile in others and other.state == READY and not other.speculation and same:
            return other
    return None


def _shared(origin: Origin) -> tuple[str, ...]:
    """The changes that two servers of a pair must have in common; a port is each one's own."""
    return tuple(change for change in origin.changes if change.partition("=")[0].strip() != "port")


def _joined_with(profile: str, user_folder: Path | None) -> set[str]:
    joined: set[str] = set()
    for name in profile_names(user_folder):
        try:
            members = load_profile(name, user_folder=user_folder).members
        except LauncherError:  # a file that makes no sense joins nothing
            continue
        if profile in members:
            joined |= set(members) - {profile}
    return joined


def _origin(record: ServerRecord) -> Origin:
    if record.origin is None:
        raise LauncherError(
            f"With which changes {record.id} was launched is not known: a secret was among them, or an older specchat "
            "launched it.",
            f"Stop it and launch it as you want it: specchat serve {record.profile} --set speculation=false.",
        )
    return record.origin
