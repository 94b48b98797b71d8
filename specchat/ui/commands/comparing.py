"""The command that races one prompt with and without speculation."""

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from specchat.core.comparison.record import Record
from specchat.core.errors import SpecchatError
from specchat.core.server import is_local
from specchat.exports.race_files import RaceFile, write_race
from specchat.session.opponents import Opponents, opponents_of
from specchat.session.power import PowerMeter
from specchat.session.racing import Race
from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def _meter(chat: "ChatScreen", opponents: Opponents) -> PowerMeter | None:
    """What reads the power of the GPUs that the servers run on: only this machine's can be read."""
    here = all(is_local(server.url) for server in opponents.servers.values())
    chooser = chat.app.chooser
    return PowerMeter(chooser.around.gpus, chat.clock) if here and chooser is not None else None


def compare(chat: "ChatScreen", argument: str) -> None:
    """Race a prompt: the one that is given, else the last one that was asked.

    Raises:
        SpecchatError: If there is nothing to ask, or no side without speculation, or a reply is running, or the chat's
            settings allow too few tokens.
    """
    turns = [turn for turn in chat.session.conversation.turns if turn.prompt]
    prompt = argument.strip() or (turns[-1].prompt if turns else "")
    if not prompt:
        raise SpecchatError("There is no prompt to compare with yet.", "Type one behind /compare.")
    if chat.asker.running:
        raise SpecchatError("A reply is running, and would disturb the measurement.", "Stop it with Esc first.")
    opponents = opponents_of(chat.session)
    race = Race(
        prompt,
        opponents,
        chat.session.sampling,
        clock=chat.clock,
        wall_clock=time.time,
        new_key=lambda: uuid4().hex,
        system=chat.session.conversation.system,
        together=opponents.can_run_together and not opponents.share_a_machine,
        meter=_meter(chat, opponents),
    )

    # Settings that nothing can be measured with are refused here, where there is somebody to tell.
    _ = race.plan

    def described() -> tuple[str, Mapping[str, object]]:
        return race.fingerprint, {"prompt": race.prompt, "together": race.together, **opponents.identity()}

    file = RaceFile(chat.app.comparisons_directory, described)
    race.keep = file.add

    def record() -> Record:
        return race.record(started=file.started, finished=datetime.now().astimezone().isoformat(timespec="seconds"))

    def export() -> tuple[Path, Path]:
        return write_race(record(), chat.export_directory)

    from specchat.ui.screens.race import RaceScreen

    if chat.is_active:
        chat.app.clear_notifications()
        screen = RaceScreen(race, look=chat.app.look, export=export, record=record, kept=lambda: file.path)
        chat.app.push_screen(screen)


COMMANDS = (
    Command(
        "compare", "the same prompt with and without speculation, side by side; alone: the last prompt",
        "Speculation", compare, argument="PROMPT", keys="F11", binding="f11",
    ),
)  # fmt: skip
