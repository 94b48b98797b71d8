"""Messages that cross widgets. Facts are in the past tense, requests are imperative."""

from dataclasses import dataclass

from textual.message import Message


@dataclass
class PromptSubmitted(Message):
    """The user pressed Enter."""

    text: str


@dataclass
class ReplyGrew(Message):
    """The reply that grows now changed."""

    first: int
    """Index of the first token that changed."""


class ReplyEnded(Message):
    """The reply has its outcome."""


@dataclass
class ScrollTranscript(Message):
    """Scroll, asked for from where the keyboard is."""

    where: str
    """`page_up`, `page_down`, `home` or `end`."""


@dataclass
class FollowingChanged(Message):
    """The transcript began or ceased to follow its end."""

    following: bool
