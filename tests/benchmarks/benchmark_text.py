"""Text as models write it, cut into tokens: words, punctuation, lists, code fences, some Chinese and an emoji."""

import random
import re
from collections.abc import Iterator

TOKENS_A_STEP = 3
_PARAGRAPHS = (
    """Speculative decoding makes a large model answer faster: a small draft model proposes a few tokens, the \
target checks them in one step, and keeps the longest prefix that it agrees with.

""",
    """The gain depends on how often the draft is right. With an acceptance length of 2.8, a step that would have \
given one token gives almost three, so the reader sees the reply nearly three times sooner (if the draft is \
cheap enough).

""",
    """- **Draft**: proposes `k` tokens, one after the other.
- **Target**: verifies all of them at once.
- **Bonus**: when every proposal holds, the target adds a word of its own.

""",
    """```python
def accepted(proposed: list[int], emitted: list[int]) -> int:
    count = 0
    for wanted, got in zip(proposed, emitted):
        if wanted != got:
            break
        count += 1
    return count
```

""",
    """In Chinese one says 推测解码 for it: 小模型先猜、大模型再验证。 The words are wide, and wrap anywhere. 🎉

""",
    """It is worth to measure both the latency and the throughput, since a batch of many requests leaves less room for \
the verification of proposals; at some size the gain is gone, and the draft only costs.

""",
)
_TOKEN = re.compile(r" ?[A-Za-z]{1,9}| ?\d{1,3}|\n+| {2,}(?= )| ?[^\w\s]{1,2}|\s|.", re.DOTALL)


class Vocabulary:
    """Token ids and their texts, and an endless text in them that is the same each time."""

    def __init__(self) -> None:
        self._paragraphs = [_TOKEN.findall(paragraph) for paragraph in _PARAGRAPHS]
        texts = dict.fromkeys(text for paragraph in self._paragraphs for text in paragraph)
        self.ids = {text: 1000 + number for number, text in enumerate(texts)}
        self.texts = {token_id: text for text, token_id in self.ids.items()}

    def tokens(self) -> Iterator[int]:
        """Ids without end."""
        order = random.Random(7)
        while True:
            for text in order.choice(self._paragraphs):
                yield self.ids[text]

    def steps(self, size: int = TOKENS_A_STEP) -> Iterator[tuple[int, ...]]:
        """Ids in steps of `size`."""
        tokens = self.tokens()
        while True:
            yield tuple(next(tokens) for _ in range(size))

    def text(self, ids: tuple[int, ...]) -> str:
        """Their text."""
        return "".join(self.texts[token_id] for token_id in ids)
