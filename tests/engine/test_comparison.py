"""`specchat compare` on real engines: switched by the hook in one server, and against a second one without a draft."""

import asyncio
import io
import json
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from specchat.cli.compare import Wishes, run_compare
from specchat.core.comparison.samples import Side
from specchat.core.switching import Way
from specchat.session.comparing import Ending
from specchat.session.opponents import opponents_of
from specchat.session.racing import Race
from specchat.wiring import connection_from, open_session
from specchat_launcher import server as launcher
from watched_engine import Watched

pytestmark = pytest.mark.engine

PROMPTS = """\
Write a Python function that checks whether a number is prime.
Explain what a compiler does.
Tell me a short story about a dragon.
What is 17 times 6? Show your reasoning.
List ten fruits, one on each line.
Describe how a bicycle works.
"""


async def compared(folder: Path, typed: dict[str, Any], count: int, **wishes: Any) -> dict[str, Any]:  # noqa: ANN401
    file = folder / "prompts.txt"
    file.write_text("".join(PROMPTS.splitlines(keepends=True)[:count]))
    out, err = io.StringIO(), io.StringIO()
    made = Wishes(prompts=file, as_json=True, samples=folder / "samples.jsonl", **wishes)
    code = await asyncio.to_thread(run_compare, connection_from(typed), made, out=out, err=err)
    assert code == 0, err.getvalue()
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def check_against_itself(value: dict[str, Any]) -> None:
    """What the result says of its samples, computed once more from them."""
    ids = {(one["prompt"], one["repeat"], one["side"]): one["replies"][0]["ids"] for one in value["samples"]}
    for pair in value["pairs"]:
        on, off = (ids[pair["prompt"], pair["repeat"], side] for side in ("on", "off"))
        parted = [index for index in range(max(len(on), len(off))) if on[index : index + 1] != off[index : index + 1]]
        said = pair["divergence"]
        assert (None if said is None else said["token"]) == (parted[0] if parted else None)
    replies = [one["replies"][0] for one in value["samples"] if one["side"] == "on"]
    steps, accepted = (sum(reply[name] for reply in replies) for name in ("steps", "accepted"))
    length = value["total"]["on"]["acceptance_length"]
    assert length["value"] == pytest.approx(1 + accepted / steps)
    assert length["aggregation"] == "pooled over steps"


@pytest.mark.long
async def test_one_server_is_compared_with_itself_switched_off(hooked: Watched, tmp_path: Path) -> None:
    typed = {"url": hooked.running.url, "max_tokens": 24}
    value = await compared(tmp_path, typed, 2, repeats=1, warm_up=1, fixed_length=True)
    check_against_itself(value)
    assert (value["off"]["way"], value["off"]["is_true_baseline"]) == ("hook", False)
    assert "nothing was proposed" in value["off"]["meant"]
    assert value["total"]["on"]["acceptance_length"]["value"] > 1.3
    assert value["total"]["off"]["disobeyed"] == 0
    assert all(not reply["drafted"] for one in value["samples"] if one["side"] == "off" for reply in one["replies"])
    assert {reply["tokens"] for one in value["samples"] for reply in one["replies"]} == {24}


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_two_servers_are_compared_and_on_is_faster(hooked: Watched, engine_root: Path, tmp_path: Path) -> None:
    with launcher.start_profile(
        "cpu-smollm2-baseline", root=engine_root, engine=hooked.version, report=lambda _: None
    ) as baseline:
        typed = {"url": hooked.running.url, "baseline_url": baseline.url, "max_tokens": 80}
        value = await compared(tmp_path, typed, 6, repeats=2)
    check_against_itself(value)
    assert value["off"]["is_true_baseline"] is True
    total = value["total"]
    print("COMPARED", hooked.version, total["speed_ratio"], total["interval"], total["differing_pairs"])
    assert total["interval"]["low"] > 1


@pytest.mark.long
async def test_a_prompt_races_on_one_server_and_both_replies_can_be_watched(hooked: Watched) -> None:
    connection = connection_from({"url": hooked.running.url, "max_tokens": 48})
    async with open_session(connection) as session:
        race = Race(
            "Explain what a compiler does.", opponents_of(session), session.sampling,
            clock=time.monotonic, wall_clock=time.time, new_key=lambda: uuid4().hex,
        )  # fmt: skip
        assert await race.run(1) is Ending.COMPLETE
        assert await race.run(2) is Ending.COMPLETE
    assert (race.done, race.opponents.way) == (3, Way.HOOK)
    assert all(sample.failure is None for sample in race.samples)
    on, off = race.replies[Side.ON], race.replies[Side.OFF]
    assert sum(bool(text) for _, text in on.rows) > 40  # each token has a text of its own
    assert sum(step.accepted or 0 for step in on.steps) > 5
    assert not any(step.drafted for step in off.steps)
    # Whatever was asked for beside the replies, the ratio is that of a comparison nobody looks at: about 2 here.
    speed = race.record(started="", finished="").result.total.speed
    print("RACED", hooked.version, speed)
    assert speed.value is not None
    assert speed.value > 1.1
