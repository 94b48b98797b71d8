"""Remembers the server that was talked to last, so that `specchat` alone opens it again. Holds no key."""

import json
from pathlib import Path


def remember(file: Path, url: str, model: str | None) -> None:
    """Write the server down; a folder that cannot be written is no reason to fail."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"url": url, "model": model}), encoding="utf-8")
    except OSError:
        return


def recall(file: Path) -> tuple[str, str | None] | None:
    """The url and model that were written down; None if there are none to be read."""
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        url, model = values["url"], values.get("model")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return (url, model) if isinstance(url, str) and (model is None or isinstance(model, str)) else None
