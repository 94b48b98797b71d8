"""The engine versions that are known, and the exact packages each is made of.

Owns the pins in `engines/*.txt`. Installs nothing.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from specchat_launcher.errors import UnknownNameError

DEFAULT_ENGINE = "0.32.0"
ENGINE_VERSIONS = ("0.32.0", "0.27.1")
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
GIB = 1024**3
# Measured: 0.42 GB of wheels and 1.9 GB installed, both on disk for a while, and 0.3 GB of caches later.
ENGINE_DISK_BYTES = 3 * GIB
ENGINE_DOWNLOAD_BYTES = 420_000_000


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """One engine version.

    Attributes:
        version: vLLM's version.
        packages: Pins that the package index has, `name==version`.
        torch_packages: Pins that only PyTorch's own index is sure to have.
        torch_index: URL of that index; None when nothing needs it.
        disk_bytes: Free space an installation needs.
        download_bytes: Roughly what is downloaded, for the progress only.
    """

    version: str
    packages: tuple[str, ...]
    torch_packages: tuple[str, ...]
    torch_index: str | None
    disk_bytes: int
    download_bytes: int

    @property
    def all_packages(self) -> tuple[str, ...]:
        """Every pin."""
        return self.packages + self.torch_packages

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the pins: an environment made from other pins is not this engine."""
        return hashlib.sha256("\n".join(sorted(self.all_packages)).encode()).hexdigest()


@cache
def engine_spec(version: str) -> EngineSpec:
    """Look an engine up by its version.

    Raises:
        UnknownNameError: There are no pins for it.
    """
    if version not in ENGINE_VERSIONS:
        raise UnknownNameError(
            f"There is no engine {version!r} to install.", f"Choose one of: {', '.join(ENGINE_VERSIONS)}."
        )
    text = (resources.files("specchat_launcher") / "engines" / f"{version}.txt").read_text(encoding="utf-8")
    pins = parse_pins(text)
    return EngineSpec(
        version=version,
        packages=tuple(pin for pin in pins if "+cpu" not in pin),
        torch_packages=tuple(pin for pin in pins if "+cpu" in pin),
        torch_index=TORCH_INDEX,
        disk_bytes=ENGINE_DISK_BYTES,
        download_bytes=ENGINE_DOWNLOAD_BYTES,
    )


def parse_pins(text: str) -> tuple[str, ...]:
    """The pins of a requirements file, without comments and blank lines."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line)


def normal_name(name: str) -> str:
    """A distribution's name as the packaging rules compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
