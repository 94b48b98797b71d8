"""What a comparison is to do: prompts, repeats and order. Decides everything by its seed; asks nobody."""

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from specchat.core.comparison.samples import Side
from specchat.core.errors import ConfigurationError

BLOCK_OF_CONCURRENCY = 4
"""With requests beside each other, a block holds so many times their number: long enough for a steady load, short
enough that both sides of it are asked in the same weather."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One conversation to have: what stands before it, and what the user says turn by turn."""

    turns: tuple[str, ...]
    """Each is asked after the reply to the one before, which stays in the conversation."""
    before: tuple[tuple[str, str], ...] = ()
    """(role, content) of the messages that come first."""
    name: str = ""
    """An id that its file gives; "" without one."""
    category: str = ""

    def __post_init__(self) -> None:
        """Refuse a prompt that asks nothing.

        Raises:
            ValueError: If there is no turn.
        """
        if not self.turns:
            raise ValueError("a prompt needs something to ask")


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt for the n-th time: what both sides answer."""

    prompt: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Block:
    """Replies that one side makes and then the other, each side with as many beside each other as the plan says."""

    number: int
    asked: tuple[Asked, ...]
    order: tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class Plan:
    """A comparison, before anything of it is done."""

    prompts: tuple[Prompt, ...]
    repeats: int = 3
    max_tokens: int = 256
    fixed_length: bool = False
    """Does every reply go on to `max_tokens`, past the end that the model would give it?"""
    concurrency: int = 1
    """Requests that a side answers beside each other."""
    warm_up: int = 2
    """Replies of each side, thrown away, before the first that counts."""
    seed: int = 0
    """Of the order, and of the sampler where it draws."""
    temperature: float = 0.0
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    system: str = ""
    settle_s: float = 0.0
    """Seconds that nobody is asked before another server is asked than the one before."""
    together: bool = False
    """Are both sides asked at the same time? Only for two servers that share nothing does that measure each alone."""

    def __post_init__(self) -> None:
        """Refuse what cannot be done.

        Raises:
            ConfigurationError: If there is no prompt, or a number is too small.
        """
        if not self.prompts:
            raise ConfigurationError("There is no prompt to compare with.", "Name a file that has some.")
        for name, value, least in (
            ("repeats", self.repeats, 1),
            ("max-tokens", self.max_tokens, 2),
            ("concurrency", self.concurrency, 1),
            ("warm-up", self.warm_up, 0),
        ):
            if value < least:
                raise ConfigurationError(f"--{name} {value} is too small.", f"Give {least} or more.")

    @property
    def total(self) -> int:
        """Samples of both sides together."""
        return 2 * self.repeats * len(self.prompts)

    def seed_of(self, repeat: int) -> int | None:
        """The sampler's seed: the same on both sides, another for each repeat; None where nothing is drawn."""
        return None if self.temperature == 0 else self.seed + repeat

    def blocks(self) -> list[Block]:
        """The whole run, in order.

        Every repeat asks all prompts, shuffled, before the next begins, so that what a machine does for some minutes
        meets many prompts and not all repeats of one. The side that goes first alternates from block to block, and the
        seed says which one begins.
        """
        draw = random.Random(f"specchat-order-{self.seed}")  # noqa: S311 - an order, no secret
        asked: list[Asked] = []
        for repeat in range(self.repeats):
            numbers = list(range(len(self.prompts)))
            draw.shuffle(numbers)
            asked += [Asked(number, repeat) for number in numbers]
        size = 1 if self.concurrency == 1 else BLOCK_OF_CONCURRENCY * self.concurrency
        parts = [tuple(asked[start : start + size]) for start in range(0, len(asked), size)]
        orders = [(Side.ON, Side.OFF), (Side.OFF, Side.ON)]
        first = draw.randrange(2)
        return [Block(number, part, orders[(first + number) % 2]) for number, part in enumerate(parts)]

    def fingerprint(self, servers: Mapping[str, object]) -> str:
        """What makes this comparison this one, as 64 hexadecimal digits: samples of another cannot be added to it.

        Args:
            servers: What identifies the two sides, ready for JSON.
        """
        whole = json.dumps({"plan": asdict(self), "servers": dict(servers)}, sort_keys=True)
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
