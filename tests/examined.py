"""What `specchat doctor` says of a server, by the name of each check."""

import json
from io import StringIO
from typing import Any

from specchat.cli.doctor import run_doctor


def examined(url: str) -> dict[str, dict[str, Any]]:
    """Examine a server that answers."""
    out = StringIO()
    assert run_doctor({"url": url}, openai_key_confirmed=False, as_json=True, out=out) == 0
    return {check["name"]: check for check in json.loads(out.getvalue())["checks"]}
