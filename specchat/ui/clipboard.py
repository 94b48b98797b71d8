"""Puts text on the clipboard from inside a terminal: by OSC 52, through tmux and screen, and by the desktop's own tool.

Knows no widget. What is written to the terminal is not answered, so the sentence says where the text was sent.
"""

import base64
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

OSC_52_LIMIT = 74_994
"""Bytes of text that terminals with a limit take: 100,000 characters as base64."""
TOOL_SECONDS = 3.0
"""A tool that takes longer is given up."""
_SCREEN_CHUNK = 240
"""Characters in one of screen's strings, which it cuts at 256 in old versions."""

Which = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that takes the text from its standard input."""

    where: str
    """What it puts the text into, for a sentence."""
    command: tuple[str, ...]
    encoding: str = "utf-8"
    through_terminal: bool = False
    """Does the text reach the clipboard only if the terminal lets it?"""
    fallback: tuple[str, ...] = ()
    """Tried where the command fails."""


@dataclass(frozen=True, slots=True)
class Copied:
    """Where a text went."""

    sentence: str
    """Says so, and warns where it may not have arrived."""
    tools: tuple[Tool, ...] = ()
    """Still to be run, by `run_tools`, off the event loop."""


def copy(
    text: str, write: Callable[[str], object], environment: Mapping[str, str], which: Which = shutil.which
) -> Copied:
    """Send text to the clipboard of whoever sits at the terminal.

    Args:
        text: What to copy.
        write: Writes to the terminal.
        environment: The process's.
        which: Finds programs.
    """
    if not text:
        return Copied("There is nothing to copy.")
    tools = _tools(environment, which)
    write(sequence(text, environment))
    said = f"Copied {len(text):,} characters"
    if any(not tool.through_terminal for tool in tools):
        return Copied(f"{said} to {' and '.join(tool.where for tool in tools)}.", tools)
    if _has_no_clipboard(environment):
        return Copied(
            "This terminal lets no program set the clipboard: install a tool for it (wl-copy, xclip or xsel), "
            "or select with Shift and the mouse.",
            tools,
        )
    where = "".join(f"{tool.where} and " for tool in tools) + "the terminal's clipboard (OSC 52)"
    if len(text.encode("utf-8", "replace")) > OSC_52_LIMIT:
        return Copied(f"{said} to {where}, but many terminals take only 75 kB: look before you rely on it.", tools)
    return Copied(f"{said} to {where}.", tools)


def sequence(text: str, environment: Mapping[str, str]) -> str:
    """OSC 52 as it reaches the terminal from here: bare, or inside what tmux or screen pass through."""
    payload = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    bare = f"\x1b]52;c;{payload}\a"
    if environment.get("STY"):
        # Also where both are set and nothing tells which is the inner one: tmux drops screen's form, and screen would
        # print tmux's onto the screen.
        chunks = (bare[at : at + _SCREEN_CHUNK] for at in range(0, len(bare), _SCREEN_CHUNK))
        return "".join(f"\x1bP{chunk}\x1b\\" for chunk in chunks)
    if environment.get("TMUX"):
        return "\x1bPtmux;" + bare.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return bare


def run_tools(tools: Iterable[Tool], text: str, environment: Mapping[str, str]) -> str | None:
    """Hand text to programs, one after the other. Blocks, for `TOOL_SECONDS` each at most.

    Returns:
        A sentence about those that failed, or None.
    """
    failures = [failure for tool in tools if (failure := _run(tool, text, environment)) is not None]
    return f"Not everything was copied: {'; '.join(failures)}." if failures else None


def _run(tool: Tool, text: str, environment: Mapping[str, str]) -> str | None:
    failure = _feed(tool.command, text.encode(tool.encoding, "replace"), environment)
    if failure is not None and tool.fallback:
        return _feed(tool.fallback, text.encode(tool.encoding, "replace"), environment)
    return failure


def _feed(command: tuple[str, ...], data: bytes, environment: Mapping[str, str]) -> str | None:
    name = command[0]
    # pbcopy takes its input for ASCII where no locale is set, as under launchd.
    extra = {"LC_CTYPE": "UTF-8"} if name == "pbcopy" and not environment.get("LANG") else {}
    try:
        # Some stay in the background to serve the clipboard: they must hold none of our pipes.
        done = subprocess.run(
            command,
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TOOL_SECONDS,
            env={**environment, **extra},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{name} did not answer within {TOOL_SECONDS:g} s"
    except OSError as error:
        return f"{name} cannot be started ({error.strerror})"
    return None if done.returncode == 0 else f"{name} failed with exit code {done.returncode}"


def _tools(environment: Mapping[str, str], which: Which) -> tuple[Tool, ...]:
    """The programs that reach a clipboard from here: tmux's, and the desktop's where the session is local."""
    tools = []
    if environment.get("TMUX") and which("tmux"):
        # By default tmux takes no sequence from inside (set-clipboard external, allow-passthrough off); this it takes.
        # Before 3.2 there is no -w, but sequences are passed through.
        load = ("tmux", "load-buffer", "-w", "-")
        tools.append(Tool("tmux's buffer", load, through_terminal=True, fallback=("tmux", "load-buffer", "-")))
    local = not (environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))
    if local and (desktop := _desktop_tool(environment, which)) is not None:
        tools.append(desktop)
    return tuple(tools)


def _desktop_tool(environment: Mapping[str, str], which: Which) -> Tool | None:
    wayland, x11 = environment.get("WAYLAND_DISPLAY"), environment.get("DISPLAY")
    wsl = environment.get("WSL_DISTRO_NAME") or environment.get("WSL_INTEROP")
    known = (
        (True, Tool("the clipboard", ("pbcopy",))),
        (wsl, Tool("the clipboard of Windows", ("clip.exe",), "utf-16")),
        (wayland, Tool("the clipboard", ("wl-copy",))),
        (x11, Tool("the clipboard", ("xclip", "-selection", "clipboard"))),
        (x11, Tool("the clipboard", ("xsel", "--clipboard", "--input"))),
    )
    return next((tool for there, tool in known if there and which(tool.command[0])), None)


def _has_no_clipboard(environment: Mapping[str, str]) -> bool:
    """Terminals known to take no OSC 52."""
    return environment.get("TERM") == "linux" or environment.get("TERM_PROGRAM") == "Apple_Terminal"
