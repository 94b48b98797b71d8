"""Which names stand for secrets, so that their values are never shown.

Owns that judgement, for environment variables and for arguments.
"""

import re

WORDS = frozenset({"key", "apikey", "token", "secret", "password", "passwd", "credential", "credentials"})


def is_secret(name: str) -> bool:
    """Whether a variable or an argument of this name holds a secret, e.g. "HF_TOKEN" or "--api-key"."""
    return not WORDS.isdisjoint(re.split(r"[-_.]+", name.lower()))
