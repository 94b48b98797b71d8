"""The progress bars that servers draw into their logs, as figures. Pure.

Owns the two shapes of tqdm that vLLM and the Hugging Face hub use. Decides nothing about phases.
"""

import re
from dataclasses import dataclass

BAR = re.compile(
    r"(?P<name>[^|\r\n]{0,200}?)(?::| -)?[ \t]*(?P<percent>\d{1,3})%(?: Completed)?[ ]?\|(?:[^|\[\r\n]{0,200}\|)?[ ]*"
    r"(?P<done>[\d.,]+)(?P<unit>[kKMGT]?)i?B?/(?P<total>[\d.,]+)(?P<total_unit>[kKMGT]?)i?B?[ ]*"
    r"\[(?P<elapsed>[\d:]+)<[^,\]\r\n]{0,30}(?:,[ ]*(?P<rate>[^,\]\r\n]{0,40}))?[^\]\r\n]{0,80}\]"
)
SECONDS_EACH = re.compile(r"^(?P<seconds>[\d.]+)s/\w+$")


@dataclass(frozen=True, slots=True)
class Bar:
    """One drawing of a progress bar.

    Attributes:
        name: What it stands for, as the server calls it.
        done: How far it is, in its unit.
        total: Its end, in the same unit.
        share: Share that is done, 0 to 1.
        elapsed: Seconds since it began, whole ones.
        rate: The speed as the bar gives it, such as `1.79s/it`; empty where it is not known yet.
    """

    name: str
    done: str
    total: str
    share: float
    elapsed: int
    rate: str

    @property
    def seconds_each(self) -> float | None:
        """Seconds for one item, where the bar is slow enough to say so."""
        found = SECONDS_EACH.match(self.rate)
        return number(found["seconds"]) if found else None


def read_bar(text: str) -> tuple[Bar, str] | None:
    """The bar that a text begins with, and what stands behind it; None where there is none.

    A crash prints its reason right behind a bar that was never finished.
    """
    if "%" not in text or "|" not in text:
        return None
    found = BAR.match(text)
    if found is None:
        return None
    rate = (found["rate"] or "").strip()
    bar = Bar(
        name=found["name"].strip().rstrip(":").strip(),
        done=found["done"] + found["unit"],
        total=found["total"] + found["total_unit"],
        share=min(1.0, int(found["percent"]) / 100),
        elapsed=_seconds(found["elapsed"]),
        rate="" if rate.startswith("?") else rate,
    )
    return bar, text[found.end() :].strip()


def number(text: str) -> float | None:
    """A number as logs write it; None for what is none."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _seconds(clock: str) -> int:
    seconds = 0
    for part in clock.split(":"):
        # A clock of a bar has at most six digits a part; more is garbage and not worth a large number.
        seconds = seconds * 60 + int(part[:6] or 0)
    return seconds
