"""Whether a server that started works as its profile says it should. Pure.

Owns the backends that a start chose, and what an acceptance length means. Measures nothing itself.
"""

import re
from dataclasses import dataclass

from specchat_launcher.spec import Expected
from specchat_launcher.startup.findings import Diagnosis
from specchat_launcher.startup.lines import LogLine

MOE = re.compile(r"^Using '?(?P<name>[A-Za-z0-9_]+)'? (?:\w+ )?MoE backend\b")
ATTENTION = re.compile(r"^Using (?:AttentionBackendEnum\.)?(?P<name>[A-Z][A-Z0-9_]+)(?: attention)? backend\b")
DRAFT = re.compile(r"^Loading (?:drafter|draft|speculator) model")
ACCEPTANCE = re.compile(r"SpecDecoding metrics: ")
FIGURES = re.compile(
    r"(?P<name>Mean acceptance length|Accepted|Drafted|Per-position acceptance rate): "
    r"(?P<value>[\d.]+(?:, [\d.]+)*)"
)

FEWEST_DRAFTS = 100
COLLAPSED = 1.3


@dataclass(frozen=True, slots=True)
class AcceptanceLine:
    """What the server writes about its speculation every few seconds: figures of all its replies in that time.

    Attributes:
        acceptance_length: Mean tokens a step, the target's own included.
        accepted: Proposals that were kept.
        drafted: Proposals that were made.
        by_position: Share of steps in which the proposal at each position was kept, 0 to 1.
    """

    acceptance_length: float
    accepted: int
    drafted: int
    by_position: tuple[float, ...]

    @property
    def drafts(self) -> int | None:
        """How many steps had proposals; None where the figures do not say."""
        if self.by_position and self.drafted % len(self.by_position) == 0:
            return self.drafted // len(self.by_position)
        if self.accepted and self.acceptance_length > 1:
            return round(self.accepted / (self.acceptance_length - 1))
        return None


def read_acceptance(text: str) -> AcceptanceLine | None:
    """The figures in a line of the log, whatever their order; None for other lines."""
    if not ACCEPTANCE.search(text):
        return None
    found = {match["name"]: match["value"] for match in FIGURES.finditer(text)}
    length, accepted, drafted = (found.get(name) for name in ("Mean acceptance length", "Accepted", "Drafted"))
    if length is None or accepted is None or drafted is None:
        return None
    try:
        rates = tuple(float(part) for part in found.get("Per-position acceptance rate", "").split(", ") if part)
        return AcceptanceLine(float(length), int(accepted), int(drafted), rates)
    except ValueError:
        return None


def acceptance_health(expected: tuple[float, float], acceptance_length: float, drafts: int) -> Diagnosis | None:
    """What an acceptance length says about a server; None where it is sane, or measured over too few steps.

    Above the band nothing is wrong: code and repetition are guessed better than anything else.

    Args:
        expected: The band in which it lies when all is well.
        acceptance_length: Mean tokens a step, over `drafts` steps.
        drafts: Steps with proposals that it was measured over.
    """
    if drafts < FEWEST_DRAFTS or acceptance_length >= expected[0]:
        return None
    measured = f"The acceptance length is {acceptance_length:.2f} over {drafts} steps"
    if acceptance_length < min(COLLAPSED, expected[0]):
        return Diagnosis(
            "acceptance-collapsed",
            "warning",
            f"{measured}, so speculation brings next to nothing.",
            "Usually the draft runs on the wrong attention backend (ROCM_ATTN in place of TRITON_ATTN), or it was made "
            'for another target: check "attention_backend" in the speculative config and the draft\'s name.',
        )
    return Diagnosis(
        "acceptance-low",
        "warning",
        f"{measured}; {expected[0]:.1f} to {expected[1]:.1f} is usual for this profile.",
        "Stories and rare languages lie lower than code. If all replies do, check the draft's attention backend.",
    )


class Backends:
    """The backends that a start chose, from its log.

    Attributes:
        moe: The backend of the experts; None where the log has not said.
    """

    def __init__(self) -> None:
        self.moe: str | None = None
        self._moe_line = ""
        self._target: str | None = None
        self._draft: str | None = None
        self._draft_line = ""
        self._at_draft: set[str] = set()

    @property
    def draft(self) -> str | None:
        """The attention backend of the draft; None where the log does not tell.

        vLLM writes each sentence once, so a draft that chose the same backend as the target leaves no line.
        """
        if self._draft is None and self._at_draft:
            return self._target
        return self._draft

    def read(self, line: LogLine) -> None:
        """Take one line of the log."""
        if DRAFT.match(line.text):
            if len(self._at_draft) < 64:
                self._at_draft.add(line.process)
        elif found := MOE.match(line.text):
            if self.moe is None:
                self.moe, self._moe_line = found["name"], line.text
        elif found := ATTENTION.match(line.text):
            if line.process not in self._at_draft:
                self._target = self._target or found["name"]
            elif self._draft is None:
                self._draft, self._draft_line = found["name"], line.text

    def health(self, expected: Expected) -> tuple[Diagnosis, ...]:
        """What differs from what the profile expects; nothing where the log does not tell."""
        found = []
        if expected.moe_backend and self.moe is not None and self.moe != expected.moe_backend:
            found.append(
                Diagnosis(
                    "moe-backend-unexpected",
                    "warning",
                    f"The experts run on {self.moe}; {expected.moe_backend} was expected and is faster.",
                    "Check --moe-backend, VLLM_ROCM_USE_AITER=1 and the AITER in this environment.",
                    (self._moe_line,),
                )
            )
        if expected.draft_backend and self.draft is not None and self.draft != expected.draft_backend:
            found.append(
                Diagnosis(
                    "draft-backend-unexpected",
                    "warning",
                    f"The draft's attention runs on {self.draft}; {expected.draft_backend} was expected.",
                    f'Put "attention_backend": "{expected.draft_backend}" into the speculative config: other backends '
                    "are slower, and acceptance can collapse.",
                    (self._draft_line,) if self._draft_line else (),
                )
            )
        return tuple(found)
