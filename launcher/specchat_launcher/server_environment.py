"""The environment variables that reach a server's processes.

Owns what is taken over from the user. For the CPU engine that is a short list: a key, a proxy or a `VLLM_` variable of
theirs must neither leak into the server nor change it. A server in an environment of the user's own needs nearly all:
the paths of ROCm, the token and the caches of Hugging Face, proxies.
"""

from collections.abc import Mapping
from pathlib import Path

TAKEN_OVER = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH"})

OTHERS = ("OPENAI_", "SPECCHAT_")
"""How the variables begin that are for specchat alone: keys for other servers are among them."""


def user_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's environment without what is for specchat alone.

    Args:
        environ: The user's.
    """
    return {name: value for name, value in environ.items() if not name.startswith(OTHERS)}


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
