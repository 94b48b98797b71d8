"""How a reply was made: with how much speculation, and by which way it was switched."""

from dataclasses import dataclass
from enum import StrEnum


class Way(StrEnum):
    """How speculation was switched for a reply."""

    HOOK = "hook"
    """The server hook, for this request alone: in the same server, with its draft loaded."""
    SERVER = "server"
    """Another server, one without a draft."""
    RELAUNCH = "relaunch"
    """The same server, stopped and launched anew with other speculation: for everybody, until it is launched again."""


@dataclass(frozen=True, slots=True)
class Speculation:
    """What was asked for."""

    limit: int | None = None
    """At most so many proposals a step: 0 is off, None is what the server does by itself."""
    way: Way | None = None
    """By which way; None where nothing was switched."""

    def __post_init__(self) -> None:
        """Refuse what cannot be asked for.

        Raises:
            ValueError: If the limit is negative.
        """
        if self.limit is not None and self.limit < 0:
            raise ValueError(f"at most {self.limit} proposals a step cannot be asked for")

    @property
    def is_off(self) -> bool:
        """Was speculation switched off?"""
        return self.limit == 0


BY_ITSELF = Speculation()
"""What the server does by itself."""
