"""The turns of a conversation, and what of them goes back to the server."""

from dataclasses import dataclass, field

from specchat.core.reply import Reply
from specchat.core.server import ServerInfo


@dataclass(slots=True)
class Turn:
    """A prompt and its reply."""

    prompt: str
    """What the user said; "" where the reply continues the one before."""
    reply: Reply
    server: ServerInfo
    """Who was asked."""
    request: dict[str, object] = field(default_factory=dict)
    """The parameters that were sent, without the messages."""
    replaced: bool = False
    """Was it asked again, or an earlier prompt sent anew? It is kept and shown, and no server hears of it any more."""
    continues: bool = False
    """Does this reply go on where the one of the turn before it ended?"""


@dataclass(slots=True)
class Conversation:
    """All turns, in order. The last one is never replaced, and a continuation stands right behind what it continues."""

    system: str = ""
    turns: list[Turn] = field(default_factory=list)

    def history(self) -> list[tuple[str, str]]:
        """(role, content) of what the server should remember.

        That is the turns that got an answer and were not replaced, without their thinking. A reply and those that
        continue it are one message.
        """
        messages = [("system", self.system)] if self.system else []
        for prompt, answer in self._exchanges():
            if answer.strip():
                messages += [("user", prompt), ("assistant", answer)]
        return messages

    def question_of(self, index: int) -> int:
        """Index of the turn whose prompt the turn at `index` answers: its own, or that of the reply it continues."""
        while index and self.turns[index].continues:
            index -= 1
        return index

    def replace_from(self, index: int) -> None:
        """Mark the turn at `index` and all after it as replaced."""
        for turn in self.turns[index:]:
            turn.replaced = True

    def last_answer(self) -> list[Turn]:
        """The turns that make up the last answer: one that has a prompt, and those that continue it."""
        return self.turns[self.question_of(len(self.turns) - 1) :] if self.turns else []

    def answers(self) -> list[list[Turn]]:
        """All answers, replaced ones too, each as the turns that make it up."""
        found: list[list[Turn]] = []
        for turn in self.turns:
            if turn.continues and found:
                found[-1].append(turn)
            else:
                found.append([turn])
        return found

    def _exchanges(self) -> list[tuple[str, str]]:
        kept = (answer for answer in self.answers() if not answer[0].replaced)
        return [(answer[0].prompt, "".join(turn.reply.text for turn in answer)) for answer in kept]
