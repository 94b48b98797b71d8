"""Which versions of vLLM take which of the arguments that profiles use.

Owns the table, read off vLLM's parsers of 0.25.1, 0.27.1, 0.28.0, 0.29.0, 0.30.0, 0.31.0, 0.32.0 and 0.33.0. What all
of them take is not in it: older versions were not read. A test asks the parsers of 0.27.1 and 0.32.0 themselves.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from specchat_launcher.arguments import Argument

Version = tuple[int, int, int]
STEP_METRICS = "per-request-spec-decode-metrics"


@dataclass(frozen=True, slots=True)
class Since:
    """When an argument came.

    Attributes:
        version: The first version that takes it.
        without: What goes on without it, as a sentence.
    """

    version: Version
    without: str


FIRST_VERSIONS: dict[str, Since] = {
    STEP_METRICS: Since(
        (0, 29, 0), "What each step accepted is read from the hook, or from the chunks of the stream, instead."
    ),
}
"""The arguments that vLLM did not always have."""


def version_of(text: str) -> Version | None:
    """The numbers of a version such as "0.27.1", "v0.27.1" or "0.33.0.dev5+rocm722"; None where it has none."""
    numbers: list[int] = []
    for part in text.removeprefix("v").split("+")[0].split("-")[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return (numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 0) if len(numbers) > 1 else None


def supported(
    arguments: Iterable[tuple[str, Argument]], version: str, *, speculates: bool
) -> tuple[tuple[tuple[str, Argument], ...], tuple[str, ...]]:
    """The arguments that a version takes, and a sentence for each that is left out.

    Args:
        arguments: As the profile has them.
        version: vLLM's; where it has no numbers, as a nightly image, it is taken to be newer than all that were read.
        speculates: Whether the server does: one that does not refuses the metrics of it.
    """
    found = version_of(version)
    kept: list[tuple[str, Argument]] = []
    notices: list[str] = []
    for name, value in arguments:
        since = FIRST_VERSIONS.get(name)
        if name == STEP_METRICS and not speculates:
            notices.append(f"--{name} is left out: a server without speculation refuses to start with it.")
        elif since is not None and found is not None and found < since.version:
            first = ".".join(map(str, since.version))
            notices.append(
                f"--{name} is left out: vLLM {version} does not have it, {first} was the first. {since.without}"
            )
        else:
            kept.append((name, value))
    return tuple(kept), tuple(notices)
