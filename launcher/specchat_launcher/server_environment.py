"""The environment variables that reach an engine's processes.

Owns the short list of what is taken over from the user. Everything else stays out: a key, a proxy or a `VLLM_`
variable of theirs must neither leak into the server nor change it.
"""

from collections.abc import Mapping
from pathlib import Path

TAKEN_OVER = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH"})


def offline_environment(environ: Mapping[str, str], cache: Path) -> dict[str, str]:
    """An environment in which libraries fetch nothing, report nothing and cache below `cache` only.

    Args:
        environ: The user's.
        cache: The engine's own cache folder.
    """
    kept = {name: value for name, value in environ.items() if name in TAKEN_OVER or name.startswith("LC_")}
    return {
        **kept,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_HOME": str(cache / "huggingface"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "torchinductor"),
        "PYTHONUNBUFFERED": "1",
    }
