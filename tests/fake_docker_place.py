"""A machine with the stand-in for Docker or Podman on its PATH, and a profile whose server runs in its container."""

import json
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from launched import PROFILE, FakePlace

CLIENT = Path(__file__).with_name("fake_docker.py")


class DockerPlace(FakePlace):
    """Such a machine."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.docker = self.folder / "docker"
        self.docker.mkdir()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.install("docker")

    def install(self, tool: str) -> None:
        """Put the stand-in on the PATH under a name, in the place of any other."""
        for earlier in self.bin.iterdir():
            earlier.unlink()
        program = self.bin / tool
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{CLIENT}" "$@"\n', encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def write_profile(
        self, name: str = PROFILE, *, environment: Mapping[str, str] | None = None, speculates: bool = False
    ) -> None:
        """A profile of the fake server in a container."""
        lines = [
            'title = "A fake server in a container"',
            'summary = "For tests."',
            'server = "vllm"',
            'runs_in = "container"',
            'model = "somebody/tiny"',
            'served_name = "tiny"',
            "hook = false",
            "[container]",
            'image = "vllm/vllm-openai-rocm:v0.32.0"',
            "[environment]",
            *(f'{key} = "{value}"' for key, value in (environment or {}).items()),
            *(("[speculation]", 'method = "eagle3"', 'draft = "somebody/draft"', "tokens = 3") if speculates else ()),
        ]
        (self.profiles / f"{name}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def environ(self) -> dict[str, str]:
        """The environment of a command, with the stand-in as the only container tool."""
        return {**super().environ(), "PATH": f"{self.bin}:/usr/bin:/bin", "FAKE_DOCKER": str(self.docker)}

    def calls(self) -> list[list[str]]:
        """What the stand-in was asked, in order."""
        return [json.loads(line) for line in (self.docker / "calls").read_text(encoding="utf-8").splitlines()]

    def container_pid(self) -> int:
        """The first process in the one container there is."""
        return int(next(self.docker.glob("*.pid")).read_text(encoding="utf-8"))

    def containers(self) -> list[str]:
        """The names of the containers there are."""
        return [path.stem for path in self.docker.glob("*.pid")]

    def fall_silent(self, *, silent: bool = True) -> None:
        """Let the daemon answer nothing any more, or answer again."""
        mark = self.docker / "silent"
        if silent:
            mark.touch()
        else:
            mark.unlink(missing_ok=True)
