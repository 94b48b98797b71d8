"""Whether a container can be started: the tool, its daemon, and the image.

Owns these judgements. Pulls nothing.
"""

from pathlib import Path

from specchat_launcher.checks import Check, ok, problem, unknown, warning
from specchat_launcher.preflight_wanted import Wanted, listed
from specchat_launcher.tool_runs import Ran

PATIENCE_S = 10.0
INSTALL = "Install one of them, or use the profile that runs in a Python of yours."


def checks_of_container(wanted: Wanted) -> list[Check]:
    """What is to be said about the tool, its daemon, the image and the groups."""
    need = wanted.profile.container
    if need is None:
        return [problem("container", "the profile names no image", "Name one with --set container.image=….")]
    tool = _tool(wanted)
    if tool is None:
        return [problem("container", f"no {' or '.join(need.tools)} is on the PATH", INSTALL)]
    daemon, answers = _daemon(wanted, tool)
    image = wanted.spec.container.image if wanted.spec is not None and wanted.spec.container is not None else need.image
    return [daemon, *([_image(wanted, tool, image)] if answers else []), *_groups(wanted)]


def _tool(wanted: Wanted) -> Path | None:
    need = wanted.profile.container
    found = (wanted.machine.program(name) for name in (need.tools if need is not None else ()))
    return next((tool for tool in found if tool is not None), None)


def _daemon(wanted: Wanted, tool: Path) -> tuple[Check, bool]:
    name = "container"
    part = "{{.Server.Version}}" if tool.name != "podman" else "{{.Client.Version}}"
    ran = wanted.machine.ask(str(tool), "version", "--format", part, timeout_s=PATIENCE_S)
    if ran is None:
        return (
            problem(
                name,
                f"{tool.name} does not answer within {PATIENCE_S:.0f} seconds",
                "Its daemon hangs: restart it.",
                f"sudo systemctl restart {tool.name}",
            ),
            False,
        )
    version = _one_line(ran.output)
    if ran.code == 0 and version:
        return ok(name, f"{tool.name} {version}"), True
    return _refused(tool, ran), False


def _refused(tool: Path, ran: Ran) -> Check:
    name, said = "container", _one_line(ran.errors) or f"it ended with code {ran.code}"
    if "permission denied" in said.lower():
        return problem(
            name,
            f"{tool.name}: {said}",
            "Add the user to the group of the daemon, then log out and in again.",
            f"sudo usermod -aG {tool.name} $USER",
        )
    return problem(name, f"{tool.name}: {said}", "Start its daemon.", f"sudo systemctl start {tool.name}")


def _image(wanted: Wanted, tool: Path, image: str) -> Check:
    name = "image"
    ran = wanted.machine.ask(str(tool), "image", "inspect", "--format", "{{.Id}}", image, timeout_s=PATIENCE_S)
    if ran is None:
        return unknown(name, f"{tool.name} does not say whether {image} is here")
    if ran.code == 0:
        return ok(name, f"{image} is here")
    return warning(
        name,
        f"{image} is not here",
        "The first start pulls it, which takes a while. It can be done before:",
        f"{tool.name} pull {image}",
    )


def _groups(wanted: Wanted) -> list[Check]:
    """Groups of the profile that this machine does not have, so that they have no number to give to the container."""
    need = wanted.profile.container
    names = [str(group) for group in (need.groups if need is not None else ())]
    missing = [name for name in names if not name.isdecimal() and name not in wanted.machine.system_groups]
    if not missing:
        return []
    return [
        warning(
            "groups",
            f"this machine has no group {listed(missing)}",
            "The container gets the devices without it; if it may not use them, give the number of their group.",
            "stat -c %g /dev/kfd",
        )
    ]


def _one_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(letter for letter in lines[0][:300] if letter.isprintable()) if lines else ""
