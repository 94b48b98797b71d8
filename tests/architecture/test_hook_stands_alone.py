"""The hook runs inside vLLM's processes: it brings nothing along, and loads nothing before vLLM does."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "launcher/specchat_vllm"
MODULES = sorted((FOLDER / "specchat_vllm").rglob("*.py"))
INSIDE_FUNCTIONS_ONLY = {"vllm", "torch", "fastapi", "starlette", "pydantic", "numpy", "msgspec"}


def imported(nodes: Iterator[ast.AST]) -> set[str]:
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "specchat_vllm").partition(".")[0] if node.level == 0 else "specchat_vllm")
    return names


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs, or is read, when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from outside_functions(child)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_module_of_the_hook_imports_only_what_every_server_has(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    foreign = imported(ast.walk(tree)) - set(sys.stdlib_module_names) - {"specchat_vllm"}
    assert foreign <= INSIDE_FUNCTIONS_ONLY
    assert not imported(outside_functions(tree)) & INSIDE_FUNCTIONS_ONLY


def test_importing_the_hook_loads_nothing_but_the_standard_library() -> None:
    names = [f"specchat_vllm.{path.stem}" for path in MODULES if path.stem != "__init__"]
    code = f"import sys, {', '.join(names)}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(FOLDER)!r})\n{code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "specchat_vllm" in loaded
    assert not loaded & (INSIDE_FUNCTIONS_ONLY | {"specchat", "specchat_launcher"})
