"""The table of symptoms of docs/guide/start-up.md, as the launcher's own table gives it."""

import re
from collections.abc import Iterable

from specchat_launcher.startup.diagnosis import FATAL
from specchat_launcher.startup.symptoms import Symptom
from specchat_launcher.startup.symptoms_gpu import NOTES

GROUP = re.compile(r"(?:\{\w+\})+")


def rows(symptoms: Iterable[Symptom]) -> list[str]:
    """One row of Markdown for each cause: its first title and remedy, with … for what a log fills in."""
    seen: dict[str, str] = {}
    for symptom in symptoms:
        title, remedy = (_cell(GROUP.sub("…", text)) for text in (symptom.title, symptom.remedy))
        seen.setdefault(symptom.cause, f"| `{symptom.cause}` | {title} | {remedy} |")
    return list(seen.values())


def fatal_rows() -> list[str]:
    """What ends a server."""
    return rows(FATAL)


def note_rows() -> list[str]:
    """What a server lives with."""
    return rows(NOTES)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").strip()


if __name__ == "__main__":
    print("\n".join([*fatal_rows(), "", *note_rows()]))
