"""The options that several commands share, and what was typed for them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from specchat.core.errors import ConfigurationError
from specchat.core.harmless import one_line

_CONNECTION, _SAMPLING = "Connection", "Sampling"

Url = Annotated[str | None, typer.Option("--url", help="Server, with or without /v1.", rich_help_panel=_CONNECTION)]
Model = Annotated[
    str | None, typer.Option("--model", help="Model, where the server has several.", rich_help_panel=_CONNECTION)
]
BaselineUrl = Annotated[
    str | None,
    typer.Option("--baseline-url", help="The same server without speculation.", rich_help_panel=_CONNECTION),
]
ApiKey = Annotated[
    str | None,
    typer.Option("--api-key", help="Key; others can read command lines.", rich_help_panel=_CONNECTION),
]
ApiKeyFile = Annotated[
    Path | None, typer.Option("--api-key-file", help="File that holds the key.", rich_help_panel=_CONNECTION)
]
OpenAIKey = Annotated[
    bool, typer.Option("--openai-key", help="Send OPENAI_API_KEY to this server.", rich_help_panel=_CONNECTION)
]
CaFile = Annotated[
    Path | None, typer.Option("--ca-file", help="Certificates to trust (PEM).", rich_help_panel=_CONNECTION)
]
Insecure = Annotated[
    bool | None,
    typer.Option("--insecure/--secure", help="Do not check the certificate.", rich_help_panel=_CONNECTION),
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", min=1, help="Most tokens of a reply.", rich_help_panel=_SAMPLING)
]
Temperature = Annotated[
    float | None, typer.Option("--temperature", min=0, help="0 is greedy.", rich_help_panel=_SAMPLING)
]
TopP = Annotated[float | None, typer.Option("--top-p", help="Nucleus sampling.", rich_help_panel=_SAMPLING)]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the sampler.", rich_help_panel=_SAMPLING)]
Stop = Annotated[
    list[str] | None, typer.Option("--stop", help="Stop string; may be repeated.", rich_help_panel=_SAMPLING)
]
Speculation = Annotated[
    str | None,
    typer.Option("--speculation", help="on, off, or at most so many proposals a step.", rich_help_panel=_SAMPLING),
]
System = Annotated[str | None, typer.Option("--system", help="System prompt.", rich_help_panel=_SAMPLING)]
Theme = Annotated[str | None, typer.Option("--theme", help="dark, light, or a theme of your own.")]
ExportDir = Annotated[Path | None, typer.Option("--export-dir", help="Where exports are written.")]
NoHook = Annotated[bool, typer.Option("--no-hook", help="Leave specchat's hook out of the server.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change a profile's key, such as arguments.max-model-len=12288; may be repeated."),
]
Engine = Annotated[str | None, typer.Option("--engine", help="Version of the CPU engine, such as 0.27.1.")]


def typed(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - settings are of many types
    """What the user typed, by setting name."""
    return {name: value for name, value in values.items() if value is not None}


def speculation_limit(text: str | None) -> int | None:
    """The limit that `on`, `off` or a number stands for; None is none.

    Raises:
        ConfigurationError: If it is none of them.
    """
    word = (text or "on").strip().lower()
    if word in {"on", "off"}:
        return 0 if word == "off" else None
    if word.isascii() and word.isdigit() and len(word) < 6:
        return int(word)
    raise ConfigurationError(f"--speculation {one_line(word, 40)} means nothing.", "Give on, off, or a number.")
