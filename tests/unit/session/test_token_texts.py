"""Asking for the texts of tokens comes to an end, whatever is answered."""

import asyncio

from fakes import FixedClock, Script, ScriptedBackend
from specchat.core.reply import Outcome
from specchat.session.chat import ChatSession


async def test_a_tokenizer_that_knows_an_id_not_is_not_asked_for_ever() -> None:
    script = Script().step("Hello").step(" there", ",").end()
    backend = ScriptedBackend(script.events, pieces={})
    session = ChatSession(backend, backend.server, FixedClock())
    async with asyncio.timeout(5):
        async for _ in session.ask("Hi"):
            pass

    reply = session.conversation.turns[0].reply
    assert reply.outcome is Outcome.FINISHED
    assert reply.text == "Hello there,"
