"""Asks an engine's own argument parser whether it takes a list of arguments.

Owns the question, which the engine's interpreter answers. It imports vLLM, which takes seconds, and builds no engine.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from specchat_launcher.tool_json import a_dict
from specchat_launcher.tool_runs import run_tool

PATIENCE_S = 180.0
BEFORE_ARGUMENTS = ("serve", "vllm.entrypoints.openai.api_server")
MARK = "specchat-answer:"
QUESTION = f"""
import contextlib, io, json, sys
said = io.StringIO()
with contextlib.redirect_stdout(sys.stderr):
    from vllm.entrypoints.cli.serve import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser
    parser = make_arg_parser(FlexibleArgumentParser())
    refused = ""
    try:
        with contextlib.redirect_stderr(said):
            parser.parse_args(json.loads(sys.argv[1]))
    except SystemExit:
        lines = said.getvalue().strip().splitlines() or ["no reason was given"]
        refused = lines[-1].removeprefix("-c: ").removeprefix("error: ")
    except Exception as error:
        refused = type(error).__name__ + ": " + str(error)
print("{MARK}" + json.dumps({{"refused": refused}}))
"""
"""`vllm serve` takes its parser from there in every version from 0.25 to 0.33."""


def why_refused(python: Path, arguments: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Why an engine's parser refuses these arguments; empty when it takes them, None when it could not be asked.

    Args:
        python: The interpreter of the engine's environment.
        arguments: What stands behind `vllm serve`.
        environ: The whole environment to ask it in.
    """
    ran = run_tool((str(python), "-c", QUESTION, json.dumps(list(arguments))), PATIENCE_S, environ)
    return None if ran is None else answer_in(ran.output)


def arguments_of(argv: Sequence[str]) -> tuple[str, ...]:
    """What stands behind `vllm serve`, or behind the module that does the same, in a command."""
    for position, part in enumerate(argv):
        if part in BEFORE_ARGUMENTS:
            return tuple(argv[position + 1 :])
    return ()


def answer_in(output: str) -> str | None:
    """The answer among what was printed; None where there is none."""
    for line in output.splitlines():
        if line.startswith(MARK):
            try:
                answer = a_dict(json.loads(line.removeprefix(MARK)))
            except ValueError:
                return None
            refused = answer.get("refused")
            return (
                "".join(letter for letter in refused[:500] if letter.isprintable())
                if isinstance(refused, str)
                else None
            )
    return None
