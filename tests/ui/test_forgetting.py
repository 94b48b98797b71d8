"""A conversation that is cleared is forgotten by the memory too, also where the collector of garbage does not look."""

import gc
import weakref

from chat_pilot import HELLO, backend_for, open_chat


async def test_nothing_holds_a_cleared_reply_and_no_circle_waits_for_the_collector() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        turn = weakref.ref(chat.screen.transcript.document.turns[0])
        flow = weakref.ref(chat.screen.transcript.document.turns[0].parts[-2].flow)  # type: ignore[attr-defined]
        gc.unfreeze()  # with something frozen, clearing would look through everything
        gc.disable()
        try:
            await chat.pilot.press("ctrl+l")
            await chat.until(lambda: not chat.session.conversation.turns)
            await chat.pilot.pause()

            assert turn() is None
            assert flow() is None
        finally:
            gc.enable()
