"""What can be typed after a slash: the names of commands, and what some of them take. Runs nothing."""

from collections.abc import Sequence

from specchat.core.harmless import one_line
from specchat.ui.attachments import matching_paths
from specchat.ui.commands.command import Command
from specchat.ui.widgets.completion import Suggestion


def suggestions(typed: str, commands: Sequence[Command]) -> list[Suggestion]:
    """What can stand where a prompt of one line is so far; empty where nothing more is known.

    Args:
        typed: The prompt, which begins with a slash.
        commands: All there are.
    """
    name, space, argument = typed[1:].partition(" ")
    if not space:
        found = [one for one in commands if one.slash and one.name.startswith(name.lower())]
        return [_suggestion(one) for one in found]
    command = next((one for one in commands if one.slash and one.name == name.lower()), None)
    if command is None:
        return []
    if command.name == "attach":
        paths = matching_paths(argument.lstrip())
        return [Suggestion(f"/attach {path}", one_line(path.rstrip("/").rpartition("/")[2]) + "/" * path.endswith("/"))
                for path in paths if path != argument.lstrip()]  # fmt: skip
    choices = command.argument.split("|") if "|" in command.argument else []
    return [Suggestion(f"/{command.name} {one}", one) for one in choices if one.startswith(argument.strip().lower())]


def _suggestion(command: Command) -> Suggestion:
    end = " " if command.argument else ""
    shown = f"/{command.name} {command.argument}".rstrip()
    return Suggestion(f"/{command.name}{end}", shown, command.what)
