"""Whole comparisons and their pages, for tests: any number of prompts, drawn by a seed, and a reader of the HTML."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from fakes import server_info
from samples_of import counted, failed, plan_for, sample_at
from specchat.core.comparison.plan import Plan, Prompt
from specchat.core.comparison.record import Record
from specchat.core.comparison.samples import Measured, Sample, Side
from specchat.core.server import ServerInfo
from specchat.core.switching import Way
from specchat.exports.compare_html import compare_html
from specchat.exports.compare_json import compare_object
from specchat.theming import load_theme
from specchat.theming.page import page_colors

LIGHT, DARK = page_colors(load_theme("light")), page_colors(load_theme("dark"))
OFF = ServerInfo("http://gpu01:8001", "0.32.0", model="tiny/chat", draft_length=0)
VOID = {"meta", "br"}


def samples_of_run(prompts: int, repeats: int, *, seed: int = 1, off_counts: bool = False) -> list[Sample]:
    """Both sides of every prompt, with noise, at times that follow each other."""
    chance, samples, clock = random.Random(seed), list[Sample](), 1_700_000_000.0
    for repeat in range(repeats):
        for prompt in range(prompts):
            steps = 30 + prompt % 7
            gain = 1 + (prompt % 5 + 1) / 4
            sides = [(Side.ON, 40 * gain), (Side.OFF, 40.0)]
            for side, rate in sides if (prompt + repeat) % 2 else reversed(sides):
                has_counts = side is Side.ON or off_counts
                counts = counted(steps, round(steps * (gain - 0.8))) if has_counts else {}
                ids = tuple(range(40)) if side is Side.ON or prompt % 3 else (*range(30), *range(90, 100))
                one = sample_at(rate * chance.gauss(1, 0.05), side, prompt=prompt, repeat=repeat, ids=ids, **counts)
                samples.append(Sample(one.prompt, one.repeat, one.side, one.replies, clock))
                clock += 2
    return samples


def comparison_of(samples: Sequence[Sample], *, prompts: int = 2, repeats: int = 1, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """The JSON of a comparison, through its text, as a reader gets it."""
    given: dict[str, Any] = {
        "plan": plan_for(prompts, repeats=repeats),
        "servers": {Side.ON: server_info(), Side.OFF: OFF},
        "way": Way.SERVER,
        "samples": samples,
        "fingerprint": "f" * 64,
        "source": "prompts.txt",
        "started": "2026-03-01T10:00:00+01:00",
        "finished": "2026-03-01T10:20:00+01:00",
    }
    value: dict[str, Any] = json.loads(json.dumps(compare_object(Record(**(given | changes)))))
    return value


def run_of(prompts: int, repeats: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """A comparison in which everything went well."""
    return comparison_of(samples_of_run(prompts, repeats), prompts=prompts, repeats=repeats, **changes)


def hostile_run(text: str) -> dict[str, Any]:
    """A comparison in which everything that can come from elsewhere is this text."""
    prompts = (Prompt((text or "-",), name=text), Prompt((text or "-",), category=text), Prompt(("refused",)))
    server = ServerInfo(f"http://gpu01/{text}", text, model=text, draft_length=3)
    samples = []
    for number, side, words in [(0, Side.ON, f"a{text}"), (0, Side.OFF, f"b{text}"), (1, Side.ON, text)]:
        reply = Measured(first_token_s=0.1, decode_s=1.0, total_s=1.1, tokens=9, text=words, evidence=text)
        samples.append(Sample(number, 0, side, (reply,)))
    samples.append(failed(Side.ON, prompt=2))
    found = comparison_of(
        samples,
        plan=Plan(prompts, repeats=1, stop=(text or "-",), system=text),
        servers={Side.ON: server, Side.OFF: server},
        notes=[text],
        off_meant=text,
        source=text,
        ending="interrupted",
        started=text,
        finished=text,
    )
    return {**found, "names": {"on": text or "on", "off": text or "off"}, "error": {"message": text, "hint": text}}


def page_of(comparison: dict[str, Any]) -> str:
    return compare_html(comparison, LIGHT, DARK)


@dataclass
class Node:
    """An element with what is in it."""

    tag: str
    attributes: dict[str, str]
    children: list["Node | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text in it, hints of a pointer left out."""
        kept = (one for one in self.children if isinstance(one, str) or one.tag != "title")
        return "".join(one if isinstance(one, str) else one.text for one in kept)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    def all(self, tag: str = "", kind: str = "") -> list["Node"]:
        """Every element below it of a tag and with a class, in the order of the page."""
        found = []
        for one in self.children:
            if isinstance(one, Node):
                fits = (not tag or one.tag == tag) and (not kind or kind in one.classes)
                found += ([one] if fits else []) + one.all(tag, kind)
        return found

    def at(self, name: str) -> "Node":
        """The section of a name."""
        return next(one for one in self.all() if one.attributes.get("id") == name)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def close(self) -> None:
        super().close()
        assert self._open == [self.root], "an element is not closed"


def read_page(page: str) -> Node:
    """The page as elements.

    Raises:
        AssertionError: If they are not closed in their order.
    """
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.root
