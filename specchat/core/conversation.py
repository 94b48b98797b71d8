"""The turns of a conversation, and what of them goes back to the server."""

from dataclasses import dataclass, field

from specchat.core.reply import Reply
from specchat.core.server import ServerInfo


@dataclass(slots=True)
class Turn:
    """A prompt and its reply."""

    prompt: str
    reply: Reply
    server: ServerInfo
    """Who was asked."""
    request: dict[str, object] = field(default_factory=dict)
    """The parameters that were sent, without the messages."""


@dataclass(slots=True)
class Conversation:
    """All turns, in order."""

    system: str = ""
    turns: list[Turn] = field(default_factory=list)

    def history(self) -> list[tuple[str, str]]:
        """(role, content) of what the server should remember: turns that got an answer, without their thinking."""
        messages = [("system", self.system)] if self.system else []
        for turn in self.turns:
            if turn.reply.text.strip():
                messages += [("user", turn.prompt), ("assistant", turn.reply.text)]
        return messages
