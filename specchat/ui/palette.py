"""The table of commands as Textual's command palette shows it."""

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider

from specchat.ui.commands.command import Command
from specchat.ui.commands.table import COMMANDS
from specchat.ui.screens.help import how_to
from specchat.ui.screens.over import ScreenOver

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


class ChatCommands(Provider):
    """Finds commands of the chat by their words."""

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for command in _offered():
            yield DiscoveryHit(_title(command), partial(self._choose, command), help=how_to(command))

    async def search(self, query: str) -> Hits:
        """Those that match."""
        matcher = self.matcher(query)
        for command in _offered():
            title = _title(command)
            score = max(matcher.match(title), matcher.match(command.name))
            if score > 0:
                yield Hit(score, matcher.highlight(title), partial(self._choose, command), help=how_to(command))

    def _choose(self, command: Command) -> None:
        chat = cast("ChatScreen", self.screen)
        if command.argument:
            while typed := chat.prompt.text:  # twice where an earlier prompt is being changed
                chat.prompt.text = ""
                chat.prompt.remember(typed)  # the arrow key brings it back
            chat.prompt.text = f"/{command.name} "
            chat.prompt.move_cursor(chat.prompt.document.end)
        else:
            chat.action_command(command.name)


class _Palette(CommandPalette, ScreenOver):
    """Textual's, which fails at a page key while the terminal leaves its list no room."""

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)


def open_palette() -> CommandPalette:
    """The palette of the chat's commands."""
    return _Palette(providers=[ChatCommands], placeholder="Find a command …")


def _offered() -> list[Command]:
    """What makes sense to choose from a list."""
    return [command for command in COMMANDS if command.slash]


def _title(command: Command) -> str:
    return command.what[0].upper() + command.what[1:]
