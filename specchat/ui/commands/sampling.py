"""Commands that set what the next prompts ask of the sampler. Each says what holds from then on."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from specchat.core.errors import SpecchatError
from specchat.core.harmless import one_line
from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen

_GROUP = "The next prompts"
_MOST_STOPS = 4
"""What OpenAI's API allows, and others after it."""
_THINKING = {"on": True, "off": False, "auto": None}
_SWITCHED = {
    True: "The model is asked to think first, from the next prompt on.",
    False: "The model is asked not to think, from the next prompt on.",
    None: "The model thinks, or does not, as the server is set up.",
}


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A number of the sampler."""

    name: str
    """Of its command."""
    field: str
    """Of Sampling."""
    what: str
    said: str
    """The sentence that says its value, with {} for it."""
    left: str
    """What the server decides if it is not set."""
    low: float
    high: float
    example: float
    whole: bool = False
    above: bool = False
    """Is `low` itself too low?"""

    @property
    def wanted(self) -> str:
        """What may be given, in words."""
        kind = "a whole number" if self.whole else "a number"
        if math.isinf(self.low):
            return kind
        least = f"{kind} above {self.low:g} and" if self.above else f"{kind} from {self.low:g}"
        return least if math.isinf(self.high) else f"{least} {'up ' * self.above}to {self.high:g}"

    def value_of(self, text: str) -> float | int | None:
        """The number in an argument; None where there is none, which gives the choice back to the server.

        Raises:
            SpecchatError: If it is no number, or none of those that make sense.
        """
        if not text:
            return None
        try:
            number: float | int = int(text) if self.whole else float(text)
        except ValueError:
            number = math.nan
        low = number > self.low if self.above else number >= self.low
        if not (low and number <= self.high and math.isfinite(number)):
            raise SpecchatError(f"/{self.name} needs {self.wanted}.", f"For example: /{self.name} {self.example:g}")
        return number

    def set_in(self, chat: "ChatScreen", text: str) -> None:
        """Set it from an argument, and say what holds."""
        value = self.value_of(text)
        change: dict[str, Any] = {self.field: value}
        chat.session.sampling = replace(chat.session.sampling, **change)
        chat.tell(self.sentence(value))

    def sentence(self, value: float | None) -> str:
        """What now holds."""
        if value is None:
            return f"The server decides {self.left}."
        return self.said.format(value if self.whole else f"{value:g}")


_PARAMETERS = (
    _Parameter(
        "max", "max_tokens", "answer in at most N tokens", "At most {} tokens a reply.", "how long replies are",
        1, math.inf, 256, whole=True,
    ),
    _Parameter("temp", "temperature", "sampling temperature, 0 to 2", "Temperature {}.", "the temperature", 0, 2, 0.7),
    _Parameter(
        "top-p", "top_p", "draw from the likeliest tokens that make up X", "Top-p {}.", "top-p", 0, 1, 0.9, above=True
    ),
    _Parameter(
        "top-k", "top_k", "draw from the N likeliest tokens", "Top-k {}.", "top-k", 1, math.inf, 40, whole=True
    ),
    _Parameter(
        "min-p", "min_p", "no token under X of the likeliest one's chance", "Min-p {}.", "min-p", 0, 1, 0.05
    ),
    _Parameter(
        "seed", "seed", "seed of the sampler", "Seed {}.", "the seed", -math.inf, math.inf, 42, whole=True
    ),
    _Parameter(
        "presence", "presence_penalty", "penalty for words that occurred", "Presence penalty {}.",
        "the presence penalty", -2, 2, 0.5,
    ),
    _Parameter(
        "frequency", "frequency_penalty", "penalty for frequent words", "Frequency penalty {}.",
        "the frequency penalty", -2, 2, 0.5,
    ),
    _Parameter(
        "repetition", "repetition_penalty", "penalty for repeated words; 1 is none", "Repetition penalty {}.",
        "the repetition penalty", 0, 2, 1.1, above=True,
    ),
)  # fmt: skip


def stop_text(chat: "ChatScreen", text: str) -> None:
    """Add a text at which replies end; without one, forget all of them."""
    stops = chat.session.sampling.stop
    if text:
        # A line's end can be typed into a prompt of one line only so.
        wanted = text.replace("\\n", "\n")
        if len(stops) >= _MOST_STOPS and wanted not in stops:
            raise SpecchatError(f"There are {_MOST_STOPS} such texts already.", "/stop alone forgets them.")
        stops = (*stops, wanted) if wanted not in stops else stops
    else:
        stops = ()
    chat.session.sampling = replace(chat.session.sampling, stop=stops)
    chat.tell(f"Replies end at {_quoted(stops)}." if stops else "No text ends a reply.")


def thinking(chat: "ChatScreen", text: str) -> None:
    """Ask the model to think or not."""
    if text.lower() not in _THINKING:
        raise SpecchatError("/thinking needs on, off or auto.", "auto leaves it to the server.")
    wanted = _THINKING[text.lower()]
    chat.session.sampling = replace(chat.session.sampling, thinking=wanted)
    chat.tell(_SWITCHED[wanted])


def parameters(chat: "ChatScreen", _: str) -> None:
    """Say what is set."""
    given = chat.session.sampling.given()
    shown = [f"{name.replace('_', ' ')} {_shown(value)}" for name, value in given.items()]
    system = chat.session.conversation.system
    if system:
        shown.append(f"system prompt “{one_line(system, 60)}”")
    chat.tell(f"Set: {', '.join(shown)}." if shown else "Nothing is set: the server decides everything.")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return _quoted(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _quoted(texts: "tuple[str, ...] | list[str]") -> str:
    return " or ".join("“{}”".format(one_line(text.replace("\n", "\\n"), 40)) for text in texts)


COMMANDS = (
    *(
        Command(
            one.name,
            f"{one.what}; alone: the server decides",
            _GROUP,
            one.set_in,
            argument="N" if one.whole else "X",
        )
        for one in _PARAMETERS
    ),
    Command("stop", "end replies at this text too; alone: at none", _GROUP, stop_text, argument="TEXT"),
    Command("thinking", "ask the model to think, or not to", _GROUP, thinking, argument="on|off|auto"),
    Command("params", "show what is set", _GROUP, parameters),
)
