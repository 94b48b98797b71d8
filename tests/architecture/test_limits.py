"""Sizes that keep the code readable, and colours that have one home."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "specchat").rglob("*.py"), *(ROOT / "launcher").rglob("*.py")])
MODULE, CLASS, FUNCTION, APP = 400, 300, 60, 200


def length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_modules_classes_and_functions_stay_small() -> None:
    too_large = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        limit = APP if path.match("ui/app.py") else MODULE
        if (lines := text.count("\n")) > limit:
            too_large.append(f"{path.relative_to(ROOT)}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and length(node) > CLASS:
                too_large.append(f"{path.relative_to(ROOT)}: class {node.name}, {length(node)} lines")
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and length(node) > FUNCTION:
                too_large.append(f"{path.relative_to(ROOT)}: {node.name}, {length(node)} lines")
    assert SOURCES
    assert not too_large


def test_colour_values_live_in_themes_alone() -> None:
    hexadecimal = re.compile(r"#[0-9a-fA-F]{6}\b")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in [*SOURCES, *(ROOT / "specchat").rglob("*.tcss")]
        for match in hexadecimal.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found


def test_widgets_hardly_ever_reach_for_the_app() -> None:
    reaching = {
        str(path.relative_to(ROOT)): count
        for path in (ROOT / "specchat/ui/widgets").glob("*.py")
        if (count := path.read_text(encoding="utf-8").count("self.app.")) > 3
    }
    assert not reaching
