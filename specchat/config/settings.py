"""The settings. A command-line value beats the environment, which beats the user's file, which beats the default."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from specchat.config.text import readable
from specchat.core.errors import ConfigurationError

_Source = PydanticBaseSettingsSource


class Settings(BaseSettings):
    """Every setting, each also a variable SPECCHAT_NAME and a key of the settings file."""

    model_config = SettingsConfigDict(env_prefix="SPECCHAT_", extra="forbid", env_ignore_empty=True)

    url: str | None = None
    """Server to talk to, with or without /v1."""
    model: str | None = None
    """Model to ask for; needed where a server has several."""
    baseline_url: str | None = None
    """A second server, the same without speculation, to switch to."""
    api_key: SecretStr | None = None
    """Key for the server. Prefer a file or the environment: command lines can be read by others."""
    api_key_file: Path | None = None
    """File that holds the key and nothing else."""
    openai_key_hosts: Annotated[list[str], NoDecode] = Field(default_factory=list)
    """Hosts to which OPENAI_API_KEY may be sent; in the environment with commas between them."""
    ca_file: Path | None = None
    """Certificates to trust, in PEM form, beside the system's."""
    insecure: bool = False
    """Do not check the server's certificate."""
    theme: str = "dark"
    """Name of a theme."""
    export_dir: Path | None = None
    """Where exports are written; the current folder if not set."""
    system: str = ""
    """System prompt."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of a reply; the server's own limit if not set."""
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Sampling temperature; the server's default if not set, 0 is greedy."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus sampling."""
    seed: int | None = None
    """Seed of the sampler."""

    @field_validator("url", "model", "baseline_url", "theme", "system", mode="before")
    @classmethod
    def _make_readable(cls, value: object) -> object:
        return readable(value) if isinstance(value, str) else value

    @field_validator("openai_key_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        # TOML gives a list; a variable is one text, which may be written as that list too.
        return re.findall(r"[^\s,\[\]\"']+", value) if isinstance(value, str) else value

    @field_validator("ca_file", "api_key_file", "export_dir", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        # The path of an empty text is the current folder, which nobody means.
        return None if isinstance(value, str | Path) and Path(value) == Path() else value

    @field_validator("ca_file", "api_key_file", "export_dir", mode="after")
    @classmethod
    def _expand_home(cls, path: Path | None) -> Path | None:
        return None if path is None else path.expanduser()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is the base class's
        init_settings: _Source,
        env_settings: _Source,
        dotenv_settings: _Source,  # noqa: ARG003
        file_secret_settings: _Source,  # noqa: ARG003
    ) -> tuple[_Source, ...]:
        """Command line and file values come in as arguments; the environment lies between them (see `load`)."""
        return init_settings, env_settings


def load(given: dict[str, Any], file: Path) -> Settings:
    """The settings from the command line, the environment and the file.

    Args:
        given: What the user typed, by setting name; None is "not typed".
        file: The settings file; it may be missing.

    Raises:
        ConfigurationError: If a source holds an unknown name or a wrong value; says which and where.
    """
    typed = {name: value for name, value in given.items() if value is not None}
    from_file = read_file(file)
    try:
        from_environment = Settings().model_fields_set
        if "api_key_file" in typed and "api_key" not in typed:
            typed["api_key"] = None  # the file that was typed beats a key that lies in the environment
        below = {name: value for name, value in from_file.items() if name not in from_environment}
        return Settings(**{**below, **typed})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "a setting"
        where = _where(name, typed, from_file, file)
        raise ConfigurationError(f"{name} {where} is wrong: {first['msg']}.") from None


def read_file(file: Path) -> dict[str, Any]:
    """The keys of a settings file; {} if there is none.

    Raises:
        ConfigurationError: If it is no TOML, or holds a key that no setting has.
    """
    try:
        with file.open("rb") as handle:
            values = tomllib.load(handle)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{file} cannot be read: {reason}.", "Mend it or move it away.") from None
    for name in values:
        if name not in Settings.model_fields:
            near = difflib.get_close_matches(name, Settings.model_fields, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Valid keys: {', '.join(sorted(Settings.model_fields))}."
            raise ConfigurationError(f"{file} has an unknown key {name!r}.", hint)
    return values


def _where(name: str, typed: dict[str, Any], from_file: dict[str, Any], file: Path) -> str:
    if name in typed:
        return "on the command line"
    return f"in {file}" if name in from_file else f"in the environment (SPECCHAT_{name.upper()})"
