"""The server of a chat launched anew with other speculation: asks first, has it shown, and lets the chat go on."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from specchat.core.errors import SpecchatError
from specchat.core.switching import Speculation
from specchat.session.local_servers import LaunchedServer
from specchat.ui.panels.server_rows import host_of
from specchat.ui.panels.texts import lasted

if TYPE_CHECKING:
    from textual.worker import Worker

    from specchat.ui.choosing import Surroundings
    from specchat.ui.screens.chat import ChatScreen

Told = Callable[["ChatScreen", Speculation], None]
"""Shows how speculation is from now on."""
NOT_RUNNING = "The server is not running; the conversation stays. /spec on relaunch launches it as it was first."
CHANGED = "The server was launched anew, and this chat is not connected to it. F10 shows the servers."
UNKNOWN = "specchat did not launch this server on this machine, or it has ended. F10 shows the servers."


def relaunch(chat: "ChatScreen", tokens: int | None, told: Told) -> None:
    """Ask whether the server is to be launched anew, and do so where it is.

    Args:
        chat: Whose server it is.
        tokens: Proposals for each step; 0 for none, None for as it was first launched.
        told: Shows how speculation is once the server answers.

    Raises:
        SpecchatError: If a reply runs, or nothing here can launch a server.
    """
    chat.asker.refuse_while_running()
    if chat.app.chooser is None:
        raise SpecchatError("This chat cannot launch servers.", "Leave it, and run specchat again.")
    work = partial(_relaunch, chat, chat.app.chooser.around, tokens, told)
    _: Worker[None] = chat.run_worker(work, exclusive=True, group="relaunching")


async def _relaunch(chat: "ChatScreen", around: "Surroundings", tokens: int | None, told: Told) -> None:
    from specchat.ui.screens.asks import AskScreen
    from specchat.ui.screens.relaunch import RelaunchScreen

    try:
        server = await around.local.launched(chat.session.speculating_server.url)
    except SpecchatError as error:
        chat.tell(str(error), severity="warning")
        return
    if server is None or server.why_not:
        chat.tell(server.why_not if server else UNKNOWN, severity="warning")
        return
    ask = AskScreen(question_of(server, tokens), title="Launch the server anew?", verb="launch it")
    if not await chat.app.push_screen_wait(ask):
        return
    chat.app.clear_notifications()
    screen = RelaunchScreen(
        around,
        server,
        tokens,
        look=chat.app.look,
        renew=partial(around.renew, chat.session),
        what=what_it_becomes(tokens),
    )
    await chat.app.push_screen_wait(screen)
    if screen.has_renewed:
        told(chat, chat.session.speculation)
    else:
        chat.tell(CHANGED if screen.answers else NOT_RUNNING, severity="warning")


def what_it_becomes(tokens: int | None) -> str:
    """How the server speculates when it is there again, in a few words."""
    if tokens is None:
        return "as it was first launched"
    return f"with k = {tokens}" if tokens else "without speculation"


def question_of(server: LaunchedServer, tokens: int | None) -> str:
    """What happens, whom it touches, what stays, and how long it takes.

    Args:
        server: As its launcher knows it.
        tokens: Proposals for each step that it would have.
    """
    name = f"{server.profile} at {host_of(server.url)}"
    if server.start_seconds is None:
        lasts = "How long a start takes here is not known yet: a large model takes minutes."
    else:
        lasts = f"The last start took {lasted(server.start_seconds)} here."
    if not server.runs:
        return f"{name} is not running. It is launched {what_it_becomes(tokens)}. {lasts} This conversation stays."
    return (
        f"{name} is stopped and launched anew, {what_it_becomes(tokens)}. Whoever else uses it is cut off, and finds it"
        f" changed. {lasts} This conversation stays, and goes on with it."
    )
