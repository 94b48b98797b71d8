"""The page about start-up says what the launcher does."""

from pathlib import Path

from specchat_launcher.startup import TIMEOUTS, StartPhase
from start_up_page import fatal_rows, note_rows

PAGE = Path(__file__).parents[3] / "docs/guide/start-up.md"


def test_the_table_of_symptoms_is_the_launchers_own() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("| `") and line in fatal_rows()] == fatal_rows()
    assert [line for line in lines if line.startswith("| `") and line in note_rows()] == note_rows()


def test_every_phase_and_its_time_out_is_on_the_page() -> None:
    text = PAGE.read_text("utf-8")
    for phase in StartPhase:
        limit = TIMEOUTS.get(phase)
        words = "none" if limit is None else f"{limit / 60:.0f} min" if limit < 7200 else f"{limit / 3600:.0f} h"
        assert f"| {phase.value} | `{phase.name.lower()}` | {words} |" in text
