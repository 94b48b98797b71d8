"""What one look before a launch found: a state, the evidence, and what to do about it.

Owns the types and the question whether a launch can work. Looks at nothing by itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    """How one thing stands."""

    OK = "ok"
    WARNING = "warning"
    """A launch works, but not as well as it should, or needs something that is still to come."""
    PROBLEM = "problem"
    """A launch cannot work like this."""
    UNKNOWN = "unknown"
    """It could not be looked at."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What it is, in a word or two.
        state: How it stands.
        evidence: What was seen, a sentence or a part of one.
        advice: What to do, a sentence or two; empty where there is nothing to do.
        command: A shell command that does it, to copy; empty where there is none.
    """

    name: str
    state: CheckState
    evidence: str
    advice: str = ""
    command: str = ""


def ok(name: str, evidence: str, advice: str = "") -> Check:
    """A thing that is as it should be."""
    return Check(name, CheckState.OK, evidence, advice)


def warning(name: str, evidence: str, advice: str, command: str = "") -> Check:
    """A thing that does not keep a server from starting."""
    return Check(name, CheckState.WARNING, evidence, advice, command)


def problem(name: str, evidence: str, advice: str, command: str = "") -> Check:
    """A thing with which no launch can work."""
    return Check(name, CheckState.PROBLEM, evidence, advice, command)


def unknown(name: str, evidence: str, advice: str = "") -> Check:
    """A thing that could not be looked at."""
    return Check(name, CheckState.UNKNOWN, evidence, advice)


def can_launch(checks: Iterable[Check]) -> bool:
    """Whether nothing that was looked at keeps a launch from working."""
    return all(check.state is not CheckState.PROBLEM for check in checks)
