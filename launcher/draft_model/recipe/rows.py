"""The data file: prompts with their answers as rows of token ids. Owns its format, draws nothing and trains nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

# Rows counted at once: bounds the mask's memory, not the result.
COUNT_CHUNK = 4096
SHORTEST_ANSWER = 8
PROMPT_TOKENS = 96
ROW_TOKENS = 384


@dataclass(frozen=True, slots=True)
class RowLimits:
    """What fits in a row."""

    prompt_tokens: int = PROMPT_TOKENS
    """Longer prompts are left out."""

    row_tokens: int = ROW_TOKENS
    """L: prompt and answer together are cut to this and padded up to it."""


@dataclass(frozen=True, slots=True)
class Rows:
    """N prompts with their answers, padded to L tokens."""

    ids: torch.Tensor
    """Integer token ids [N, L]: prompt, answer (with its end token if it came), padding."""

    lengths: torch.Tensor
    """int64 [N]: tokens of prompt and answer."""

    prompt_lengths: torch.Tensor
    """int64 [N]: tokens of the prompt alone."""

    def __len__(self) -> int:
        return self.ids.shape[0]

    def select(self, index: torch.Tensor, device: torch.device) -> "Rows":
        """Take the rows at `index` [B] to a device."""
        return Rows(
            ids=self.ids[index].to(device),
            lengths=self.lengths[index].to(device),
            prompt_lengths=self.prompt_lengths[index].to(device),
        )

    def answer_token_counts(self, vocabulary_size: int) -> torch.Tensor:
        """How often each token occurs in the answers, int64 [vocabulary_size]; prompts do not count."""
        counts = torch.zeros(vocabulary_size, dtype=torch.long)
        positions = torch.arange(self.ids.shape[1])[None]
        for start in range(0, len(self), COUNT_CHUNK):
            part = slice(start, start + COUNT_CHUNK)
            answered = (positions >= self.prompt_lengths[part, None]) & (positions < self.lengths[part, None])
            counts += torch.bincount(self.ids[part][answered], minlength=vocabulary_size)
        return counts

    def save(self, path: Path) -> None:
        """Write the data file (a torch archive of three tensors: ids int32, lens, plens)."""
        torch.save({"ids": self.ids.to(torch.int32), "lens": self.lengths, "plens": self.prompt_lengths}, path)


def load_rows(path: Path) -> Rows:
    """Read a file that `Rows.save` wrote; ids come as int64."""
    stored = torch.load(path, weights_only=True)
    return Rows(ids=stored["ids"].long(), lengths=stored["lens"], prompt_lengths=stored["plens"])


class RowCollector:
    """Gathers answers until they become `Rows`."""

    def __init__(self, limits: RowLimits, end_token: int) -> None:
        self._limits = limits
        self._end_token = end_token
        self._rows: list[list[int]] = []
        self._lengths: list[int] = []
        self._prompt_lengths: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def answer_tokens(self) -> int:
        """Tokens of all answers gathered so far."""
        return sum(self._lengths) - sum(self._prompt_lengths)

    def add(self, prompt: Sequence[int], answer: Sequence[int]) -> None:
        """Take one answer, cut at its first end token; too long a prompt or too short an answer is left out."""
        answer = list(answer)
        if self._end_token in answer:
            answer = answer[: answer.index(self._end_token) + 1]
        if len(prompt) > self._limits.prompt_tokens or len(answer) < SHORTEST_ANSWER:
            return
        ids = [*prompt, *answer][: self._limits.row_tokens]
        self._rows.append(ids + [self._end_token] * (self._limits.row_tokens - len(ids)))
        self._lengths.append(len(ids))
        self._prompt_lengths.append(len(prompt))

    def rows(self) -> Rows:
        """Everything gathered."""
        return Rows(
            ids=torch.tensor(self._rows, dtype=torch.int32),
            lengths=torch.tensor(self._lengths),
            prompt_lengths=torch.tensor(self._prompt_lengths),
        )
