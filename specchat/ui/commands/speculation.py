"""Commands that switch speculation, and that show what was proposed in vain."""

import re
from typing import TYPE_CHECKING

from specchat.core.errors import RelaunchNeeded, SpecchatError
from specchat.core.switching import Speculation, Way
from specchat.ui.commands.command import Command
from specchat.ui.commands.tokens import go_to
from specchat.ui.cursor import Spot
from specchat.ui.panels.step_rows import token_of
from specchat.ui.proposals import Proposals, bracketed
from specchat.ui.relaunching import relaunch
from specchat.ui.screens.draft_errors import DraftErrorsScreen
from specchat.ui.screens.steps import StepsScreen

if TYPE_CHECKING:
    from specchat.core.reply import Reply
    from specchat.session.chat import ChatSession
    from specchat.ui.screens.chat import ChatScreen

_LIMIT = re.compile(r"(?:k=)?(\d{1,3})")
_WAYS = {str(way): way for way in Way}
_SWITCHED = {
    Way.HOOK: "by the server's hook, for each message",
    Way.SERVER: "by asking the second server, which has no draft",
    Way.RELAUNCH: "by launching the server anew",
}
_SHOWN = {
    Proposals.HIDDEN: "Rejected proposals are hidden.",
    Proposals.COUNT: f"{bracketed('2')} stands where the target rejected 2 proposals.",
    Proposals.SHOWN: "Rejected proposals are struck through, before the target's own word.",
}


# -- switching --------------------------------------------------------------------------------------------------------


def switch(chat: "ChatScreen", _: str) -> None:
    """Speculation on where it is off or limited, else off.

    Raises:
        SpecchatError: If there is no way to switch it, with a sentence that says what is possible.
    """
    _set(chat, chat.session.toggled)


def spec(chat: "ChatScreen", argument: str) -> None:
    """Set how much speculation the next prompts ask for, or say how it stands.

    Raises:
        SpecchatError: If that makes no sense, or there is no way to switch it.
    """
    wanted, _, named = argument.strip().lower().partition(" ")
    way = _WAYS.get(named.strip())
    if not wanted:
        chat.tell(how_it_stands(chat.session))
    elif wanted in {"on", "off"} and (way or not named):
        _set(chat, 0 if wanted == "off" else None, way)
    elif (match := _LIMIT.fullmatch(wanted)) is not None and (way or not named):
        _set(chat, int(match[1]), way)
    else:
        raise SpecchatError(
            "/spec takes on, off or k=N, and by which way.",
            "For example: /spec k=1 for at most one proposal a step, /spec off server for the second server, /spec off"
            " relaunch for the same one launched anew.",
        )


def _set(chat: "ChatScreen", limit: int | None, way: Way | None = None) -> None:
    if way is Way.RELAUNCH and chat.app.chooser is not None:
        # Why it cannot be where it cannot is the launcher's to say.
        relaunch(chat, limit, _tell_how_it_is)
        return
    try:
        chosen = chat.session.set_speculation(limit, way)
    except RelaunchNeeded as needed:
        relaunch(chat, needed.limit, _tell_how_it_is)
        return
    _tell_how_it_is(chat, chosen)


def _tell_how_it_is(chat: "ChatScreen", chosen: Speculation) -> None:
    chat.show_server_changed()
    when = "" if chosen.way is Way.RELAUNCH else ", from the next prompt on"
    chat.tell(f"{_in_words(chosen)}{when}.")


def how_it_stands(session: "ChatSession") -> str:
    """Two sentences: what the next prompt asks for, and which ways there are to switch it."""
    ways = [_SWITCHED[way] for way in session.ways()]
    possible = f"It can be switched {' or '.join(ways)}." if ways else "It cannot be switched here."
    if session.speculation.limit is None and session.server.speculates is None:
        return f"Whether the server speculates is not known. {possible}"
    if session.speculation.limit is None and session.server.speculates is False:
        return "The server does not speculate."
    hook = session.server.hook
    why = "" if hook is None or Way.HOOK not in session.ways() else hook.off_why.rstrip(".")
    off = f" Where it is off, {why[0].lower()}{why[1:]}." if why else ""
    return f"{_in_words(session.speculation)}. {possible}{off}"


def _in_words(speculation: Speculation) -> str:
    limit = speculation.limit
    if limit is None:
        return "Speculation is on"
    by = {
        Way.HOOK: " by the hook",
        Way.SERVER: ": the second server is asked",
        Way.RELAUNCH: ": the server was launched anew",
        None: "",
    }[speculation.way]
    if limit == 0:
        return f"Speculation is off{by}"
    return f"At most {limit} proposal{'s' if limit > 1 else ''} a step{by}"


# -- what was proposed ------------------------------------------------------------------------------------------------


def proposals(chat: "ChatScreen", argument: str) -> None:
    """Show rejected proposals in the next way, or in the one that is named.

    Raises:
        SpecchatError: If there is no such way.
    """
    wanted = argument.strip().lower()
    if wanted and wanted not in list(Proposals):
        raise SpecchatError("/proposals takes hidden, count or shown.", "Alone it goes from one to the next.")
    view = chat.transcript.document.view_of(None)
    shown = Proposals(wanted) if wanted else view.proposals.next
    chat.transcript.set_view(None, proposals=shown)
    replies = [turn.reply for turn in chat.session.conversation.turns]
    hook = chat.session.server.hook
    if shown is not Proposals.HIDDEN and not any(reply.is_traced for reply in replies):
        if hook is None:
            chat.tell("This server tells no proposals: it has no hook.", severity="warning")
            return
        if not hook.trace:
            chat.tell("This server tells no proposals: its hook cannot trace.", severity="warning")
            return
    markdown = (
        " Markdown shows none of them; F5 shows tokens." if view.markdown and shown is not Proposals.HIDDEN else ""
    )
    chat.tell(_SHOWN[shown] + markdown)


def steps(chat: "ChatScreen", _: str) -> None:
    """Show the steps of a reply: of the token under the cursor, else the last reply that has any.

    Raises:
        SpecchatError: If no step is known.
    """
    spot, turns = chat.transcript.spot, chat.session.conversation.turns
    known = [index for index, turn in enumerate(turns) if turn.reply.steps or turn.reply.is_running]
    turn = known[-1] if spot is None and known else None if spot is None else spot.turn
    if turn is None or not (turns[turn].reply.steps or turns[turn].reply.is_running):
        raise SpecchatError("No step of this reply is known.", "A server that speculates and sends token ids has them.")
    reply = turns[turn].reply

    def see(step: int) -> None:
        token = token_of(reply, step)
        if token is None or turn >= len(turns) or not go_to(chat, Spot(turn, token)):
            chat.tell(f"Step {step + 1} shows no token here. F6 opens folded thinking; F5 shows tokens.")

    step = None if spot is None else reply.tokens[spot.token].label.step
    name = _name(turn, len(turns))
    chat.show_over(
        StepsScreen(reply, name, chat.token_styles, see, step=0 if spot is not None and step is None else step)
    )


def errors(chat: "ChatScreen", _: str) -> None:
    """Show what the draft gets wrong: in the reply under the token cursor, else in the last one.

    Raises:
        SpecchatError: If there is no reply yet.
    """
    turns = chat.session.conversation.turns
    if not turns:
        raise SpecchatError("There is no reply yet.", "Ask something first.")
    spot = chat.transcript.spot
    turn = len(turns) - 1 if spot is None else spot.turn
    replies: list[Reply] = [one.reply for one in turns]
    chat.show_over(DraftErrorsScreen(replies[turn], replies, _name(turn, len(turns)), chat.token_styles))


def _name(turn: int, turns: int) -> str:
    return f"reply {turn + 1} of {turns}" if turns > 1 else "the reply"


COMMANDS = (
    Command(
        "switch", "speculation on or off, for the next prompt", "Speculation", switch,
        keys="F2, Ctrl+T", binding="f2,ctrl+t", label="On/off",
    ),
    Command(
        "spec", "speculation on, off or at most N proposals a step; alone: how it stands", "Speculation", spec,
        argument="on|off|k=N [hook|server|relaunch]",
    ),
    Command(
        "proposals", "rejected proposals in the text: hidden, counted or struck through", "Speculation", proposals,
        argument="hidden|count|shown", keys="Ctrl+N", binding="ctrl+n",
    ),
    Command(
        "steps", "the steps of a reply, one row each: proposed, kept, corrected", "Speculation", steps,
        keys="F12", binding="f12",
    ),
    Command("errors", "what the draft gets wrong, in a reply and in the session", "Speculation", errors),
)  # fmt: skip
