"""Asks a server through the real adapter and the real session, as the program does."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from specchat.backends.address import Address
from specchat.backends.openai_compatible import OpenAICompatibleBackend
from specchat.core.reply import Reply
from specchat.session.chat import ChatSession
from specchat.session.ports import Sampling


@asynccontextmanager
async def session_with(url: str, sampling: Sampling | None = None, **options: Any) -> AsyncGenerator[ChatSession]:  # noqa: ANN401
    """A connected session; closes its connections at the end."""
    backend = OpenAICompatibleBackend(Address.parse(url), clock=time.monotonic, **options)
    try:
        server = await backend.connect()
        yield ChatSession(backend, server, time.monotonic, sampling=sampling)
    finally:
        await backend.close()


async def ask(session: ChatSession, prompt: str = "Hello", idle_limit_seconds: float | None = 20) -> Reply:
    """One reply, to its end."""
    async for _ in session.ask(prompt, idle_limit_seconds=idle_limit_seconds):
        pass
    return session.conversation.turns[-1].reply


async def ask_server(url: str, **options: Any) -> Reply:  # noqa: ANN401
    """Connect, ask once and close."""
    async with session_with(url, **options) as session:
        return await ask(session)
