"""Which key goes to which host. A key is read here and sent by the backend; nothing else ever holds one."""

import os
from dataclasses import dataclass

from specchat.config.settings import Settings
from specchat.core.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """The key for one host."""

    key: str | None
    """The key to send, or None to send no Authorization at all."""
    unsent_openai_key: bool = False
    """Is OPENAI_API_KEY set, and kept back because this host was not confirmed?"""

    def __repr__(self) -> str:
        """Never the key itself."""
        return f"KeyChoice(key={'***' if self.key else None}, unsent_openai_key={self.unsent_openai_key})"


def choose_key(settings: Settings, host: str, *, openai_key_confirmed: bool = False) -> KeyChoice:
    """The key for `host`.

    specchat's own settings go to every server that the user names with them; OPENAI_API_KEY belongs to somebody
    else's service, so it goes only to hosts that the user has confirmed on this command line or in the settings.

    Raises:
        ConfigurationError: If the key file cannot be read, or a key cannot be sent in a header.
    """
    key = _own_key(settings)
    if key is not None:
        return KeyChoice(_checked(key))
    openai_key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not openai_key:
        return KeyChoice(None)
    if openai_key_confirmed or host.lower() in {name.lower() for name in settings.openai_key_hosts}:
        return KeyChoice(_checked(openai_key))
    return KeyChoice(None, unsent_openai_key=True)


def _own_key(settings: Settings) -> str | None:
    if settings.api_key is not None:
        return settings.api_key.get_secret_value().strip() or None
    if settings.api_key_file is None:
        return None
    try:
        return settings.api_key_file.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigurationError(
            f"The key file {settings.api_key_file} cannot be read: {reason}.",
            "Name a file that holds the key and nothing else.",
        ) from None


def _checked(key: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError("The API key holds characters that no header can carry.", "Is it the right file?")
    return key
