"""Varied prompts for real servers: kinds of text, ways of sampling, ways of ending."""

from dataclasses import dataclass

from specchat.session.ports import Sampling


@dataclass(frozen=True)
class Case:
    """One request; `stop_after` tokens the user presses Esc."""

    prompt: str
    sampling: Sampling
    stop_after: int | None = None

    @property
    def name(self) -> str:
        ending = "esc" if self.stop_after else "stop" if self.sampling.stop else str(self.sampling.max_tokens)
        return f"{self.prompt[:24]}-t{self.sampling.temperature}-{ending}"


def greedy(max_tokens: int | None, *stop: str) -> Sampling:
    return Sampling(max_tokens, 0.0, stop=stop)


def sampled(max_tokens: int | None, seed: int, *stop: str) -> Sampling:
    return Sampling(max_tokens, 0.9, 0.95, seed, stop)


CASES = [
    Case("Write a Python function that checks whether a number is prime.", greedy(160)),
    Case("Explain what a compiler does.", greedy(120)),
    Case("Tell me a short story about a dragon.", sampled(200, 1)),
    Case("What is 17 times 6? Show your reasoning.", greedy(100)),
    Case("List ten fruits, one on each line.", greedy(80)),
    Case("Write the numbers from one to ten in Japanese script.", greedy(90)),
    Case("Repeat exactly: 👨‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️ 🙂🙃", greedy(60)),
    Case("قل مرحبا باللغة العربية", sampled(70, 2)),
    Case("Переведи на русский: good morning, dear friend.", greedy(60)),
    Case("用中文介绍一下你自己。", greedy(80)),
    Case("Say hi.", greedy(1)),
    Case("Say hi.", greedy(2)),
    Case("Say hi.", greedy(3)),
    Case("Say hello to Maria.", greedy(None)),
    Case("Give three tips for sleeping well.", greedy(400)),
    Case("Give three tips for public speaking.", sampled(400, 3)),
    Case("Write HTML for a login form.", greedy(200)),
    Case("Write a SQL query that counts users per country.", greedy(120)),
    Case("Count from one to thirty, separated by commas.", greedy(150, " seven")),
    Case("Name five colours, one on each line.", greedy(100, "\n")),
    Case("Explain gravity to a child.", sampled(150, 4, "because", ".")),
    Case("Write a JSON object with a name and an age.", greedy(80, "}")),
    Case("Tell me everything about black holes.", greedy(400), stop_after=20),
    Case("Write a long poem about the sea.", sampled(400, 5), stop_after=35),
    Case("Write a bash script that lists large files.", greedy(180), stop_after=2),
    Case("Correct the grammar: She go to school every days.", greedy(None)),
    Case("Translate into French: I love bread and cheese.", greedy(60)),
    Case("Draw a table with two columns, in Markdown.", greedy(140)),
    Case("Write code with tabs\tand\r\nodd   spaces.", sampled(120, 6)),
    Case("Summarize: " + "The quick brown fox jumps over the lazy dog. " * 20, greedy(60)),
]
SHORT = [CASES[i] for i in (0, 2, 6, 7, 10, 11, 13, 18, 22)]
"""One of each kind, for every CI run."""
