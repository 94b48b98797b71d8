"""Keeps the hook from ever harming the server: what fails is switched off for good, with one log line.

One fuse a process. Whoever wraps a function of vLLM calls it outside the fuse and does its own work inside.
"""

import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger("vllm.specchat")


class Unsupported(Exception):
    """This vLLM lacks something that a patch needs."""


class Fuse:
    """Which parts work in this process."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        """What does not work, a sentence each."""
        self.patched: set[str] = set()
        """The parts that are in place."""
        self._blown: set[str] = set()

    def try_patch(self, part: str, patch: Callable[[Any], None], module: Any) -> None:
        """Apply a patch; a failure leaves the part out."""
        try:
            patch(module)
        except Exception as error:  # whatever an unknown vLLM does, it must go on serving
            self.blow(part, error)
        else:
            self.patched.add(part)

    def is_whole(self, part: str) -> bool:
        """Does this part still work?"""
        return part not in self._blown

    def blow(self, part: str, error: BaseException) -> None:
        """Switch a part off for the life of this process."""
        if part in self._blown:
            return
        self._blown.add(part)
        self.patched.discard(part)
        problem = f"{part}: {error}" if isinstance(error, Unsupported) else f"{part}: {type(error).__name__}: {error}"
        self.problems.append(problem)
        _log.warning("specchat: the hook is off in %s; vLLM serves on without it", problem)


FUSE = Fuse()


def guarded(part: str, work: Callable[..., Any], *args: Any) -> Any:
    """Do some work of the hook; a failure switches the part off. Returns None where it is off."""
    if FUSE.is_whole(part):
        try:
            return work(*args)
        except Exception as error:  # never the server's problem
            FUSE.blow(part, error)
    return None


def need(owner: Any, *names: str) -> None:
    """Check that an object has these attributes.

    Raises:
        Unsupported: If one is missing.
    """
    for name in names:
        if not hasattr(owner, name):
            raise Unsupported(f"this vLLM has no {getattr(owner, '__name__', owner)}.{name}")


def need_parameters(function: Any, *names: str) -> None:
    """Check that a function takes these parameters.

    Raises:
        Unsupported: If one is missing.
    """
    from inspect import signature

    parameters = signature(function).parameters
    for name in names:
        if name not in parameters:
            raise Unsupported(f"this vLLM's {function.__qualname__} takes no {name}")
