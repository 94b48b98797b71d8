"""The known servers, one TOML file each in `profiles/`.

Owns the reading and checking of those files. Resolves no paths on this machine.
"""

import tomllib
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from specchat_launcher.errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class ProfileSpeculation:
    """The speculation of a profile.

    Attributes:
        method: vLLM's name of the method.
        draft: Name of the draft model.
        tokens: Proposals for each step.
    """

    method: str
    draft: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Profile:
    """One known server.

    Attributes:
        name: What the user calls it.
        title: What it is, in a few words.
        summary: What it is for, as a sentence or two.
        engine: Version of the engine it runs on unless the user says otherwise.
        model: Name of the target model, also in the API.
        speculation: How it speculates; None for plain decoding.
        flags: Further arguments of the server.
        environment: Further variables of the server, name and value.
        hook: Whether specchat's hook is loaded into it.
    """

    name: str
    title: str
    summary: str
    engine: str
    model: str
    speculation: ProfileSpeculation | None
    flags: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    hook: bool


def profile_names() -> tuple[str, ...]:
    """Every profile there is, in alphabetical order."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml")))


def load_profile(name: str) -> Profile:
    """Look a profile up by its name.

    Raises:
        UnknownNameError: There is none of that name.
    """
    if name not in profile_names():
        raise UnknownNameError(f"There is no server profile {name!r}.", f"Choose one of: {', '.join(profile_names())}.")
    return parse_profile(name, tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8")))


def parse_profile(name: str, content: dict[str, Any]) -> Profile:
    """A profile from the content of its file, with the hook unless that says otherwise.

    A missing key is a `KeyError`: these files ship with the code.
    """
    speculation = content.get("speculation")
    return Profile(
        name=name,
        title=content["title"],
        summary=content["summary"],
        engine=content["engine"],
        model=content["model"],
        speculation=ProfileSpeculation(**speculation) if speculation is not None else None,
        flags=tuple(content["flags"]),
        environment=tuple(content.get("environment", {}).items()),
        hook=content.get("hook", True),
    )


def _folder() -> Traversable:
    return resources.files("specchat_launcher") / "profiles"
