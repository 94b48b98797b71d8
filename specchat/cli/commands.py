"""The commands and their options. What they do is in the modules that they import when they run."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer

from specchat.cli import options
from specchat.cli.compare_command import compare
from specchat.cli.streams import ready_streams
from specchat.config.text import readable
from specchat.core.errors import ConfigurationError, ModelChoiceNeeded, SpecchatError

app = typer.Typer(
    name="specchat",
    help="A terminal chat that shows speculative decoding at work, token by token. "
    "Without a command it opens the chat with the server that --url names, or with the last one, or shows the servers "
    "of this machine.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
engine_app = typer.Typer(help="The CPU engines: real vLLM servers for this machine.", no_args_is_help=True)
app.add_typer(engine_app, name="engine")
app.command()(compare)

_FAILED, _INTERRUPTED = 1, 130


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    ready_streams()
    try:
        code = _run(arguments)
        # Here, where a failure still becomes a sentence, and not when Python ends.
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("specchat: interrupted.", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone: nobody is left to be told.
        sys.stdout = None
        return _FAILED
    except OSError as error:
        sys.stdout = None
        where = f" ({error.filename})" if error.filename else ""
        return _fail(
            SpecchatError(
                f"Something could not be read or written: {error.strerror or error}{where}.",
                "Make room or give access, and try again.",
            )
        )
    except SpecchatError as error:
        return _fail(error)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(args=None if arguments is None else list(arguments))
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    return 0


def _fail(error: SpecchatError) -> int:
    from specchat.cli.summary import failure_line

    # A full or closed stderr takes no sentence; the exit code still tells.
    with suppress(OSError):
        print(failure_line(error), file=sys.stderr)
    return _FAILED


@app.callback(invoke_without_command=True)
def chat(
    context: typer.Context,
    url: options.Url = None,
    model: options.Model = None,
    baseline_url: options.BaselineUrl = None,
    api_key: options.ApiKey = None,
    api_key_file: options.ApiKeyFile = None,
    openai_key: options.OpenAIKey = False,
    ca_file: options.CaFile = None,
    insecure: options.Insecure = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    seed: options.Seed = None,
    system: options.System = None,
    theme: options.Theme = None,
    export_dir: options.ExportDir = None,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Chat with a server: the one named by --url, or the last one."""
    if version:
        from specchat import __version__

        print(f"specchat {__version__}")
        raise typer.Exit
    typed = options.typed(
        url=url, model=model, baseline_url=baseline_url, api_key=api_key, api_key_file=api_key_file, ca_file=ca_file,
        insecure=insecure, max_tokens=max_tokens, temperature=temperature, top_p=top_p, seed=seed, system=system,
        theme=theme, export_dir=export_dir,
    )  # fmt: skip
    if context.invoked_subcommand is not None:
        if typed:
            raise ConfigurationError(f"Options go behind the command: specchat {context.invoked_subcommand} --url …")
        return
    from specchat.wiring import connection_from, run_app

    _require_terminal()
    try:
        code = asyncio.run(run_app(connection_from(typed, openai_key_confirmed=openai_key, may_choose=True)))
    except ModelChoiceNeeded as choice:
        typed["model"] = _choose_model(choice.models)
        code = asyncio.run(run_app(connection_from(typed, openai_key_confirmed=openai_key, may_choose=True)))
    raise typer.Exit(code)


@app.command()
def ask(
    prompt: Annotated[str | None, typer.Argument(help="What to ask; - or nothing reads stdin.")] = None,
    url: options.Url = None,
    model: options.Model = None,
    api_key: options.ApiKey = None,
    api_key_file: options.ApiKeyFile = None,
    openai_key: options.OpenAIKey = False,
    ca_file: options.CaFile = None,
    insecure: options.Insecure = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    seed: options.Seed = None,
    stop: options.Stop = None,
    system: options.System = None,
    speculation: options.Speculation = None,
    theme: options.Theme = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Start this local server around the question: cpu-smollm2.")
    ] = None,
    engine: options.Engine = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object (docs/reply-schema.md).")] = False,
    proposals: Annotated[
        bool, typer.Option("--proposals", help="Show rejected proposals at their place, struck through.")
    ] = False,
    idle_limit: Annotated[
        float, typer.Option("--idle-limit", min=1, help="Give up after so many silent seconds.")
    ] = 300,
) -> None:
    """Ask one question; the answer goes to stdout, its figures to stderr."""
    from specchat.cli.ask import run_ask
    from specchat.wiring import connection_from

    typed = options.typed(
        url=url, model=model, api_key=api_key, api_key_file=api_key_file, ca_file=ca_file, insecure=insecure,
        max_tokens=max_tokens, temperature=temperature, top_p=top_p, seed=seed, system=system, theme=theme,
    )  # fmt: skip
    limit = options.speculation_limit(speculation)
    text = _prompt_text(prompt)
    with _server_around(profile, engine, typed):
        connection = connection_from(typed, stop=tuple(map(readable, stop or ())), openai_key_confirmed=openai_key)
        code = run_ask(
            connection, text, as_json=as_json, proposals=proposals, limit=limit, idle_limit_seconds=idle_limit
        )
    raise typer.Exit(code)


@app.command()
def demo(
    engine: options.Engine = None,
    baseline: Annotated[bool, typer.Option("--baseline", help="Start a second server without speculation.")] = False,
    no_hook: options.NoHook = False,
    prompt: Annotated[str | None, typer.Option("--prompt", help="What the chat opens with; '' for nothing.")] = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    theme: options.Theme = None,
    export_dir: options.ExportDir = None,
) -> None:
    """Set up a real speculative server on this machine, and chat with it."""
    from specchat.cli.local import run_demo

    _require_terminal()
    typed = options.typed(max_tokens=max_tokens, temperature=temperature, theme=theme, export_dir=export_dir)
    raise typer.Exit(run_demo(typed, engine=engine, baseline=baseline, hook=not no_hook, opening_prompt=prompt))


@app.command()
def serve(
    profile: Annotated[str, typer.Argument(help="cpu-smollm2, mi355x-minimax-m3, …; `specchat profiles` lists them.")],
    port: Annotated[
        int | None, typer.Option("--port", min=1, max=65535, help="The profile's own, or a free one, if not given.")
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on; not 127.0.0.1 needs VLLM_API_KEY.")
    ] = None,
    engine: options.Engine = None,
    no_hook: options.NoHook = False,
    changes: options.Changes = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command and start nothing.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Return when it is ready; it runs on.")] = False,
    owned: Annotated[
        bool, typer.Option("--owned", help="End it with this command, however this command ends.")
    ] = False,
    attach: Annotated[bool, typer.Option("--attach", help="Follow the one that runs already.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print events, one JSON object a line.")] = False,
) -> None:
    """Start the server of a profile; Ctrl-C stops it, a closed terminal does not."""
    from specchat.cli.local import run_serve

    run_serve(
        profile, port=port, host=host, engine=engine, hook=not no_hook, changes=changes or (), dry_run=dry_run,
        detach=detach, owned=owned, as_json=as_json, attach=attach,
    )  # fmt: skip


@app.command()
def servers(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Show what specchat started, and what answers on the usual ports of this machine."""
    from specchat.cli.local import run_servers

    run_servers(as_json=as_json)


@app.command()
def stop(
    server: Annotated[str | None, typer.Argument(help="Its name, profile or port; the only one if not given.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Stop every one that specchat started.")] = False,
) -> None:
    """Stop a server that specchat started."""
    from specchat.cli.local import run_stop

    run_stop(server, every=every)


@app.command()
def profiles(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False) -> None:
    """Show the servers that specchat knows how to start, yours among them."""
    from specchat.cli.local import show_profiles

    show_profiles(as_json=as_json)


@app.command()
def doctor(
    profile: Annotated[
        str | None, typer.Argument(help="Say whether this profile can be launched here, instead.")
    ] = None,
    url: options.Url = None,
    model: options.Model = None,
    api_key: options.ApiKey = None,
    api_key_file: options.ApiKeyFile = None,
    openai_key: options.OpenAIKey = False,
    ca_file: options.CaFile = None,
    insecure: options.Insecure = None,
    changes: options.Changes = None,
    ask_engine: Annotated[
        bool, typer.Option("--ask-engine", help="With a profile: let vLLM's own parser judge its arguments.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what a server can tell, what it lacks and how to get it; asks it for one reply of 16 tokens at most.

    With a profile: say whether it can be launched on this machine, and what to do if not.
    """
    if profile is not None:
        from specchat.cli.doctor_launch import run_launch_doctor

        if url is not None:
            raise ConfigurationError("A profile and --url are two questions.", "Ask `specchat doctor` about one.")
        raise typer.Exit(
            run_launch_doctor(profile, changes=changes or (), as_json=as_json, out=sys.stdout, ask_engine=ask_engine)
        )
    from specchat.cli.doctor import run_doctor

    typed = options.typed(
        url=url, model=model, api_key=api_key, api_key_file=api_key_file, ca_file=ca_file, insecure=insecure,
    )  # fmt: skip
    raise typer.Exit(run_doctor(typed, openai_key_confirmed=openai_key, as_json=as_json, out=sys.stdout))


@engine_app.command("list")
def engine_list(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array.")] = False,
) -> None:
    """Show which engines there are and which are installed."""
    from specchat.cli.local import show_engines

    show_engines(as_json=as_json)


@engine_app.command("install")
def engine_install(version: Annotated[str | None, typer.Argument(help="The newest if not given.")] = None) -> None:
    """Install an engine, or mend one that is broken."""
    from specchat.cli.local import install

    install(version)


@engine_app.command("remove")
def engine_remove(version: Annotated[str, typer.Argument(help="Version to remove.")]) -> None:
    """Remove an engine."""
    from specchat.cli.local import remove

    remove(version)


@contextmanager
def _server_around(profile: str | None, engine: str | None, typed: dict[str, Any]) -> Iterator[None]:
    """Run the profile's server while this is open, and take its address; nothing without a profile."""
    if profile is None:
        yield
        return
    from specchat.cli.local import local_server

    with local_server(profile, engine) as url:
        typed["url"] = url
        yield


def _prompt_text(prompt: str | None) -> str:
    """The prompt from the argument or stdin.

    Raises:
        ConfigurationError: If there is none.
    """
    if prompt is None or prompt == "-":
        if prompt is None and sys.stdin.isatty():
            raise ConfigurationError("There is no prompt.", 'Give one: specchat ask "…", or pipe it in.')
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not prompt.strip():
        raise ConfigurationError("The prompt is empty.")
    return readable(prompt)


def _choose_model(models: Sequence[str]) -> str:
    """Let the user choose one of the models that a server has."""
    from rich.console import Console
    from rich.prompt import IntPrompt

    from specchat.core.harmless import one_line

    console = Console(stderr=True)
    console.print("This server has several models:")
    for number, name in enumerate(models, 1):
        console.print(f"  {number}  {one_line(name)}", markup=False, highlight=False)
    choices = [str(number) for number in range(1, len(models) + 1)]
    return models[IntPrompt.ask("Which one", console=console, choices=choices, default=1, show_choices=False) - 1]


def _require_terminal() -> None:
    """The chat draws on a terminal.

    Raises:
        ConfigurationError: If stdin or stdout is none.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigurationError("The chat needs a terminal.", "In a pipe, use `specchat ask`.")
