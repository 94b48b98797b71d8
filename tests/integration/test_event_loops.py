"""The program connects before its screen has an event loop of its own."""

import asyncio
import threading
import time

from chatting import ask
from scripted_server import ScriptedServer, chunk, sse
from specchat.backends.address import Address
from specchat.backends.openai_compatible import OpenAICompatibleBackend
from specchat.core.reply import Outcome
from specchat.session.chat import ChatSession


def test_a_backend_connected_in_one_loop_is_used_in_others() -> None:
    started = threading.Event()
    server = ScriptedServer({"/v1/chat/completions": sse(chunk("Hi", finish="stop"), "[DONE]")})
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serve() -> None:
        async with server:
            started.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    started.wait(5)
    try:
        backend = OpenAICompatibleBackend(Address.parse(server.url), clock=time.monotonic)
        info = asyncio.run(backend.connect())

        async def chat() -> Outcome:
            outcome = (await ask(ChatSession(backend, info, time.monotonic))).outcome
            await backend.close()
            return outcome

        assert asyncio.run(chat()) is Outcome.FINISHED
        assert asyncio.run(chat()) is Outcome.FINISHED
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(5)
        loop.close()
