"""Takes secrets out of text before anyone sees it."""

import json
from collections.abc import Iterable
from urllib.parse import quote


def redact(text: str, secrets: Iterable[str | None]) -> str:
    """The text with each secret replaced by `***`, also where it is URL-encoded or escaped as JSON.

    Call it before a text is cut short: half a key is still half a key.
    """
    for secret in sorted((s for s in secrets if s), key=len, reverse=True):
        for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1]):
            text = text.replace(form, "***")
    return text
