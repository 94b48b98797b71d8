"""Runs in an engine's interpreter: reads argument lists with vLLM's own parser and says what it thinks of each.

Reads a JSON object, name to list, from its input; writes a JSON object, name to complaint, to its output. Builds no
engine.
"""

import contextlib
import dataclasses
import importlib
import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

MODULES = (
    "vllm.entrypoints.openai.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.common.cli_args",
)
SERVERS = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.launchers.launcher")


def first_with(modules: Iterable[str], name: str) -> Any:  # noqa: ANN401 - vLLM has no types here
    for module in modules:
        with contextlib.suppress(ModuleNotFoundError):
            found = getattr(importlib.import_module(module), name, None)
            if found is not None:
                return found
    raise SystemExit(f"vLLM has no {name} where it was looked for")


def unknown_names(args: Any) -> str:  # noqa: ANN401 - vLLM has no types here
    """What vLLM looks up only while it builds an engine, by the same registries."""
    from vllm.config import SpeculativeConfig
    from vllm.reasoning import ReasoningParserManager
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    speculation = args.speculative_config or {}
    unknown = set(speculation) - {field.name for field in dataclasses.fields(SpeculativeConfig)}
    for backend in (args.attention_backend, speculation.get("attention_backend")):
        if backend is not None and getattr(backend, "name", backend) not in AttentionBackendEnum.__members__:
            unknown.add(backend)
    if args.reasoning_parser and args.reasoning_parser not in ReasoningParserManager.list_registered():
        unknown.add(args.reasoning_parser)
    return f"unknown: {sorted(unknown)}" if unknown else ""


def complaint(
    parser: Any,  # noqa: ANN401 - vLLM has no types here
    validators: Iterable[Callable[[Any], None]],
    argv: Sequence[str],
) -> str:
    """Empty where vLLM would go on to build an engine from these arguments."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            args = parser.parse_args(argv)
            for validate in validators:
                validate(args)
            return unknown_names(args)
    except SystemExit:
        return said.getvalue().strip() or "the parser ended"
    except Exception as error:  # noqa: BLE001 - whatever vLLM says is what the test wants to hear
        return f"{type(error).__name__}: {error}"


def main() -> None:
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = first_with(MODULES, "make_arg_parser")(FlexibleArgumentParser(prog="vllm serve"))
    validators = [first_with(MODULES, "validate_parsed_serve_args"), first_with(SERVERS, "validate_api_server_args")]
    lists = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        complaints = {name: complaint(parser, validators, argv) for name, argv in lists.items()}
    json.dump(complaints, sys.stdout)


main()
