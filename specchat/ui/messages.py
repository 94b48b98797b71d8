"""Messages that cross widgets. Facts are in the past tense, requests are imperative."""

from dataclasses import dataclass

from textual.message import Message


@dataclass
class PromptSubmitted(Message):
    """The user pressed Enter."""

    text: str
    """With long pastes and attached files in their places."""
    replaces: int | None = None
    """Index of the turn whose prompt it takes the place of; None for a new one."""
    shown: str = ""
    """As it stood in the prompt, which is empty now."""


@dataclass
class ReplyGrew(Message):
    """The reply that grows now changed."""

    first: int
    """Index of the first token that changed."""


class AskingBegan(Message):
    """A reply was asked for."""


class AskingEnded(Message):
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


@dataclass
class CursorMoved(Message):
    """The token cursor stands at another token, or what is known of its token changed."""

    turn: int
    token: int
    """Index into the tokens of the turn's reply."""


class CursorLeft(Message):
    """There is no token cursor any more: the keyboard is elsewhere, or there are no tokens."""
