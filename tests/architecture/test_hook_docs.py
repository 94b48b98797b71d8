"""The pages about the hook say what its code does."""

import ast
import re
from pathlib import Path

from specchat_vllm import PROTOCOL, VERSION, hub, texts
from specchat_vllm.routes import PATH, plugin
from specchat_vllm.rows import Row
from specchat_vllm.scheduler import _TAKE_A_WIDTH
from specchat_vllm.status import describe

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "launcher/specchat_vllm"
PROTOCOL_PAGE = (ROOT / "docs/hook-protocol.md").read_text(encoding="utf-8")
OPERATORS_PAGE = (ROOT / "docs/guide/operators.md").read_text(encoding="utf-8")


def documented(page: str) -> set[str]:
    """What stands in the first column of its tables."""
    cells = re.findall(r"^\| (.*?) \|", page, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}


def test_every_key_of_the_wire_is_documented() -> None:
    status = describe(vllm=None, core=None, front=[], problems=[], servers=1, late=0)
    step = Row("", "", 0, 0, 0, [], 1, [], 0.0, None, None).as_step(0.0)
    assert documented(PROTOCOL_PAGE) == {*status, *step}
    assert f"version {PROTOCOL}" in PROTOCOL_PAGE
    assert f"`GET {PATH}/trace/KEY" in PROTOCOL_PAGE


def test_the_bounds_of_memory_are_those_of_the_code() -> None:
    for bound in (hub.ROWS_A_TRACE, hub.ROWS_IN_ALL, hub.TRACES, texts._KEPT):
        assert f"{bound:,}" in OPERATORS_PAGE
    for page in (OPERATORS_PAGE, PROTOCOL_PAGE):
        assert f"{hub.KEPT_SECONDS:.0f} s" in page


def wrapped(tree: ast.Module) -> set[str]:
    """Attributes that a patch gives a function of its own."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            values = value.elts if isinstance(value, ast.Tuple) else [value]
            names |= {
                name.attr
                for name, function in zip(targets, values, strict=False)
                if isinstance(name, ast.Attribute) and isinstance(function, ast.Name)
                if isinstance(name.value, ast.Name) and name.value.id in {"cls", "runner", "output", "module"}
            }
    return names


def test_every_function_that_is_wrapped_is_listed() -> None:
    modules = (ast.parse(path.read_text(encoding="utf-8")) for path in (FOLDER / "specchat_vllm").glob("*.py"))
    names = set().union(*map(wrapped, modules))
    assert {"update_from_output", "sample_tokens", "process_outputs", "dispatch_cg_and_sync_dp", "get_output"} <= names
    assert names <= set(re.findall(r"\w+", OPERATORS_PAGE))


def test_methods_that_can_draft_less_are_listed() -> None:
    for method in _TAKE_A_WIDTH:
        assert f"`{method}`" in OPERATORS_PAGE


def test_what_vllm_reads_of_the_package_fits_its_code() -> None:
    (folder,) = FOLDER.glob("*.dist-info")
    assert folder.name == f"specchat_vllm-{VERSION}.dist-info"
    assert f"\nVersion: {VERSION}\n" in (folder / "METADATA").read_text(encoding="ascii")
    points = (folder / "entry_points.txt").read_text(encoding="ascii")
    assert "specchat = specchat_vllm:register\n" in points
    assert f"{plugin().name} = specchat_vllm.routes:plugin\n" in points
