"""The options of `specchat compare`; what they do is in the modules that it imports when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from specchat.cli import options
from specchat.config.text import readable

_RUN, _OUTPUT = "Comparison", "Output"


_Prompts = Annotated[Path, typer.Option("--prompts", help="Prompts: a text file, or JSONL.", rich_help_panel=_RUN)]
_BaselineModel = Annotated[
    str | None, typer.Option("--baseline-model", help="The baseline's name for the same model, where it differs.")
]
_Repeats = Annotated[
    int, typer.Option("--repeats", min=1, help="Times that each prompt is asked.", rich_help_panel=_RUN)
]
_Concurrency = Annotated[int, typer.Option("--concurrency", min=1, help="Requests at once.", rich_help_panel=_RUN)]
_WarmUp = Annotated[
    int, typer.Option("--warm-up", min=0, help="Replies of each side that do not count.", rich_help_panel=_RUN)
]
_Settle = Annotated[
    float | None,
    typer.Option(
        "--settle",
        min=0,
        help="Seconds of rest before the other server is asked; 1.25 where both are on one machine, else 0.",
        rich_help_panel=_RUN,
    ),
]
_FixedLength = Annotated[
    bool,
    typer.Option(
        "--fixed-length", help="Every reply has --max-tokens tokens (vLLM's ignore_eos).", rich_help_panel=_RUN
    ),
]
_Seed = Annotated[
    int | None, typer.Option("--seed", help="Of the order, the interval and the sampler.", rich_help_panel=_RUN)
]
_AllowSpeculating = Annotated[
    bool,
    typer.Option(
        "--allow-speculating-baseline", help="Compare with a server that speculates too.", rich_help_panel=_RUN
    ),
]
_IdleLimit = Annotated[float, typer.Option("--idle-limit", min=1, help="Give a reply up after so many silent seconds.")]
_Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object (specchat.compare/1).", rich_help_panel=_OUTPUT)
]
_Markdown = Annotated[
    Path | None, typer.Option("--markdown", help="Write a Markdown report here.", rich_help_panel=_OUTPUT)
]
_Html = Annotated[
    Path | None,
    typer.Option("--html", help="Write a page with pictures here, for any browser.", rich_help_panel=_OUTPUT),
]
_Samples = Annotated[
    Path | None,
    typer.Option("--samples", help="Keep every reply here, to go on with an interrupted run.", rich_help_panel=_OUTPUT),
]
_Resume = Annotated[
    bool | None,
    typer.Option(
        "--resume/--fresh",
        help="Go on with what is measured, or begin anew; else an unfinished run goes on.",
        rich_help_panel=_OUTPUT,
    ),
]


def compare(  # noqa: PLR0917 - a command's parameters are its options, passed by name
    prompts: _Prompts,
    url: options.Url = None,
    baseline_url: options.BaselineUrl = None,
    model: options.Model = None,
    baseline_model: _BaselineModel = None,
    api_key: options.ApiKey = None,
    api_key_file: options.ApiKeyFile = None,
    openai_key: options.OpenAIKey = False,
    ca_file: options.CaFile = None,
    insecure: options.Insecure = None,
    repeats: _Repeats = 3,
    max_tokens: options.MaxTokens = None,
    concurrency: _Concurrency = 1,
    warm_up: _WarmUp = 2,
    settle: _Settle = None,
    fixed_length: _FixedLength = False,
    seed: _Seed = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    stop: options.Stop = None,
    system: options.System = None,
    as_json: _Json = False,
    markdown: _Markdown = None,
    html: _Html = None,
    samples: _Samples = None,
    resume: _Resume = None,
    allow_speculating_baseline: _AllowSpeculating = False,
    idle_limit: _IdleLimit = 300,
) -> None:
    """Measure what speculation brings: the same prompts with and without it, over and over, and how sure that is.

    Without --baseline-url the hook in the server switches speculation, which is no true baseline.
    """
    from specchat.cli.compare import Wishes, run_compare
    from specchat.wiring import connection_from

    typed = options.typed(
        url=url, model=model, baseline_url=baseline_url, api_key=api_key, api_key_file=api_key_file, ca_file=ca_file,
        insecure=insecure, max_tokens=max_tokens, temperature=temperature, top_p=top_p, seed=seed, system=system,
    )  # fmt: skip
    connection = connection_from(typed, stop=tuple(map(readable, stop or ())), openai_key_confirmed=openai_key)
    wishes = Wishes(
        prompts, repeats, concurrency, warm_up, fixed_length, as_json, markdown, html, samples, resume,
        baseline_model, allow_speculating_baseline, idle_limit, settle,
    )  # fmt: skip
    raise typer.Exit(run_compare(connection, wishes))
