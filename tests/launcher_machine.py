"""A machine below one folder for tests of the launcher: a home, interpreters with servers, and tools for containers."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from specchat_launcher import planning
from specchat_launcher.models import draft_model_directory
from specchat_launcher.planning import plan
from specchat_launcher.profiles import Profile
from specchat_launcher.spec import ServerSpec

GROUPS = {"video": 44, "render": 109}
SERVERS = {"vllm": "0.27.1", "sglang": "0.5.18", "transformers": "5.24.0"}


@dataclass(frozen=True)
class Laid:
    """The machine.

    Attributes:
        root: Everything is below it.
        home: The user's home.
        data: The data directory.
        environ: The user's environment.
    """

    root: Path
    home: Path
    data: Path
    environ: dict[str, str]

    @property
    def bin(self) -> Path:
        """The folder of the PATH that the servers' commands are in."""
        return self.root / "servers" / "bin"

    def install(self, package: str, version: str) -> None:
        """What pip leaves of a server that matters here."""
        packages = self.root / "servers" / "lib" / "python3.12" / "site-packages"
        for earlier in packages.glob(f"{package}-*.dist-info"):
            shutil.rmtree(earlier)
        info = packages / f"{package}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        if package == "vllm":
            (info / "entry_points.txt").write_text(
                "[vllm.general_plugins]\nlora_filesystem_resolver = vllm.x:register\n"
            )
        if package != "sglang":
            self.program(package)

    def program(self, name: str) -> Path:
        """A program of that name on the PATH that must never be run."""
        path = self.bin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\nexit 99\n")
        path.chmod(0o755)
        return path

    def remove(self, name: str) -> None:
        """Take a program away."""
        (self.bin / name).unlink()

    def plan(
        self,
        profile: Profile,
        environ: Mapping[str, str] | None = None,
        *,
        prepare: bool = False,
        host: str | None = None,
    ) -> ServerSpec:
        """The plan of a profile on this machine, with further variables of the user's."""
        return plan(
            profile,
            self.data,
            report=lambda _: None,
            port=profile.port or 20_000,
            host=host,
            environ=self.environ | dict(environ or {}),
            prepare=prepare,
            home=self.home,
            group=GROUPS.get,
        )

    def neutral(self, text: str) -> str:
        """A text with the paths that a user might have, in place of the machine's."""
        draft = draft_model_directory(Path(planning.__file__).parent)
        pairs = {str(self.home): "/home/user", str(self.root): "/opt", str(draft): "/opt/specchat/draft_model"}
        for path, shown in pairs.items():
            text = text.replace(path, shown)
        return text


def lay_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> Laid:
    """A machine with every server and both tools, and the hook in a folder of its own."""
    home = root / "home"
    home.mkdir()
    data = home / ".local" / "share" / "specchat"
    laid = Laid(root, home, data, {"PATH": str(root / "servers" / "bin"), "HOME": str(home)})
    for name in ("python3", "docker", "podman"):
        laid.program(name)
    (root / "servers" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    for package, version in SERVERS.items():
        laid.install(package, version)
    hook = root / "specchat" / "specchat_vllm"
    module = hook / "specchat_vllm"
    module.mkdir(parents=True)
    (module / "__init__.py").touch()
    info = hook / "specchat_vllm-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[vllm.general_plugins]\nspecchat = specchat_vllm:register\n")
    monkeypatch.setattr("specchat_launcher.hook.hook_folder", lambda *_: hook)
    monkeypatch.setattr("specchat_launcher.planning.hook_folder", lambda *_: hook)
    return laid
