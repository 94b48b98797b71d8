"""Finds the files of profiles, reads them, and joins each with the one that it extends.

Owns where profiles are and how they inherit. Understands no key but `extends`.
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from specchat_launcher.errors import ProfileError, UnknownNameError
from specchat_launcher.profile_schema import FREE_TABLES, SIMPLE, TABLES, check_content

SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """One file.

    Attributes:
        name: The profile's name.
        where: What the file is called in messages.
        text: What it holds.
        path: The file, if it is one of the user's; None for one that ships with specchat.
    """

    name: str
    where: str
    text: str
    path: Path | None


def user_profiles_folder(environ: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """The folder of the user's own profiles.

    `SPECCHAT_PROFILES` wins, then `XDG_CONFIG_HOME/specchat/profiles`, then `~/.config/specchat/profiles`.

    Args:
        environ: The user's environment.
        home: The user's home directory; None asks the system.
    """
    if chosen := environ.get("SPECCHAT_PROFILES"):
        return Path(chosen).expanduser().absolute()
    # The XDG specification tells programs to ignore a relative path here.
    if (xdg := environ.get("XDG_CONFIG_HOME")) and Path(xdg).is_absolute():
        return Path(xdg) / "specchat" / "profiles"
    return (home if home is not None else Path.home()) / ".config" / "specchat" / "profiles"


class ProfileFiles:
    """The profiles that ship with specchat, and the user's, which win over one of the same name."""

    def __init__(self, user_folder: Path) -> None:
        self._shipped = resources.files("specchat_launcher") / "profiles"
        self._user_folder = user_folder

    def names(self) -> tuple[str, ...]:
        """Every name, in alphabetical order."""
        shipped = (file.name for file in self._shipped.iterdir())
        try:
            own = [file.name for file in self._user_folder.iterdir()]
        except OSError:
            own = []
        return tuple(sorted({name.removesuffix(SUFFIX) for name in (*shipped, *own) if name.endswith(SUFFIX)}))

    def joined(self, name: str) -> tuple[dict[str, Any], ProfileFile]:
        """The content of a profile with all that it inherits, and its own file.

        Raises:
            UnknownNameError: There is none of that name.
            ProfileError: A file cannot be read, has a wrong key, or extends in a circle.
        """
        chain = self._chain(name)
        content: dict[str, Any] = {}
        for _, parsed in reversed(chain):
            content = joined_tables(content, {key: value for key, value in parsed.items() if key != "extends"})
        return content, chain[0][0]

    def _chain(self, name: str) -> list[tuple[ProfileFile, dict[str, Any]]]:
        chain: list[tuple[ProfileFile, dict[str, Any]]] = []
        seen: list[str] = []
        wanted: str | None = name
        while wanted is not None:
            # A profile of the user's may extend the one that it replaces.
            file = self._find(wanted, shipped_only=wanted in seen)
            if file is None or any(file == earlier for earlier, _ in chain):
                raise self._not_found(wanted, chain)
            parsed = _parsed(file)
            chain.append((file, parsed))
            seen.append(wanted)
            wanted = parsed.get("extends")
        return chain

    def _not_found(self, wanted: str, chain: Sequence[tuple[ProfileFile, dict[str, Any]]]) -> Exception:
        known = ", ".join(self.names())
        if not chain:
            return UnknownNameError(f"There is no server profile {wanted!r}.", f"Choose one of: {known}.")
        where = chain[-1][0].where
        if wanted in {file.name for file, _ in chain}:
            circle = " extends ".join([*(file.name for file, _ in chain), wanted])
            return ProfileError(
                f'{where} has "extends" in a circle: {circle}.', 'Take "extends" out of one of these files.'
            )
        return ProfileError(
            f'{where} has {wanted!r} for "extends", and there is no such profile.', f"Choose one of: {known}."
        )

    def _find(self, name: str, *, shipped_only: bool) -> ProfileFile | None:
        if not name or "/" in name or "\\" in name:
            return None
        own = self._user_folder / f"{name}{SUFFIX}"
        if not shipped_only and own.is_file():
            try:
                return ProfileFile(name, str(own), own.read_text(encoding="utf-8"), own)
            except (OSError, UnicodeDecodeError) as error:
                raise ProfileError(f"{own} cannot be read: {error}.", "Mend the file or take it away.") from error
        shipped = self._shipped / f"{name}{SUFFIX}"
        if shipped.is_file():
            return ProfileFile(name, f"profiles/{name}{SUFFIX}", shipped.read_text(encoding="utf-8"), None)
        return None


def joined_tables(lower: Mapping[str, Any], upper: Mapping[str, Any], path: tuple[str, ...] = ()) -> dict[str, Any]:
    """Two contents as one: tables are joined key by key, and everything else is the upper one's.

    `false` takes away what is below it, except where true and false are the values that a key has.
    """
    joined = dict(lower)
    for name, value in upper.items():
        below = joined.get(name)
        if value is False and _is_removable((*path, name)):
            joined.pop(name, None)
        elif isinstance(value, dict):
            joined[name] = joined_tables(below if isinstance(below, dict) else {}, value, (*path, name))
        else:
            joined[name] = value
    return joined


def _is_removable(path: tuple[str, ...]) -> bool:
    if len(path) == 1:
        return path[0] in TABLES or (path[0] in SIMPLE and SIMPLE[path[0]].removable)
    # Deeper than this is the inside of an argument's own value.
    return len(path) == 2 and (path[0] in FREE_TABLES or path[0] in TABLES)


def _parsed(file: ProfileFile) -> dict[str, Any]:
    try:
        parsed = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{file.where} is no valid TOML: {error}.", "Mend the file there.") from error
    check_content(parsed, file.where)
    return parsed
