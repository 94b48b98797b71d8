"""Messages that cross widgets. Facts are in the past tense, requests are imperative."""

from dataclasses import dataclass

from textual.message import Message

from specchat.core.errors import SpecchatError


@dataclass
class PromptSubmitted(Message):
    """The user pressed Enter."""

    text: str


@dataclass
class ReplyGrew(Message):
    """The reply that grows now changed."""

    first: int
    """Index of the first token that changed."""


class AskingBegan(Message):
    """A reply was asked for."""


@dataclass
class AskingRefused(Message):
    """There is nothing that could be asked for so."""

    error: SpecchatError


class AskingEnded(Message):
    """The reply has its outcome, or there is none."""


@dataclass
class ScrollTranscript(Message):
    """Scroll, asked for from where the keyboard is."""

    where: str
    """`page_up`, `page_down`, `home` or `end`."""


@dataclass
class FollowingChanged(Message):
    """The transcript began or ceased to follow its end."""

    following: bool
