"""Texts of token ids from the server's own tokenizer, by vLLM's /detokenize. Remembers what it learned.

The route takes ids and returns their joint text without boundaries. The process behind it is the one that sends the
stream, and a call for every id slows the very reply that is being measured. So many ids go into one call, with a
special token of the prompt between them, at whose text the answer is cut again.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from specchat.backends.json_reading import a_dict, parse
from specchat.core.errors import SpecchatError

if TYPE_CHECKING:
    import httpx2

Run = tuple[int, ...]

_AT_ONCE = 2
"""Calls in flight."""
_RUNS_PER_CALL = 64
_PAUSE_SECONDS = 0.05
"""Between one round of calls and the next, so that a fast reply asks for the ids of several steps together."""
_ANSWER_SECONDS = 3.0
_TEXT_NAMES = ("prompt", "content", "text")
_SPECIAL = re.compile(r"[<\[][^\s<>\[\]]{2,}[>\]]")


class _NoTokenizer(Exception):
    """The server answers, but not with a text."""


class PieceSource:
    """Asks for the texts of ids alone and of runs of ids together.

    Attributes:
        separator: An id that stands for a special token, as the first of a prompt usually does; None if none is known.
    """

    def __init__(self, url: str, model: str, client: Callable[[], "httpx2.AsyncClient"]) -> None:
        """Know nothing yet.

        Args:
            url: Full URL of the route.
            model: The model's name.
            client: Gives the HTTP client to use now.
        """
        self.separator: int | None = None
        self._url = url
        self._model = model
        self._client = client
        self._known: dict[Run, str] = {}
        self._refused = False

    async def learn(
        self, ids: Sequence[int], runs: Sequence[tuple[int, ...]]
    ) -> tuple[dict[int, str], dict[tuple[int, ...], str]] | None:
        """Texts of ids alone and of runs together; None where the server cannot tell. Raises only a cancellation."""
        import httpx2

        wanted = [(token,) for token in ids] + list(runs)
        missing = [run for run in dict.fromkeys(wanted) if run not in self._known]
        if missing and not self._refused:
            try:
                try:
                    await self._ask_all(missing)
                except (httpx2.NetworkError, httpx2.RemoteProtocolError):
                    # A server or a proxy may close a kept connection at the moment it is used: another one is made.
                    await self._ask_all(missing)
            except _NoTokenizer:
                self._refused = True
            except (httpx2.HTTPError, httpx2.InvalidURL, SpecchatError):
                # No answer says nothing about the next time.
                return None
        if any(run not in self._known for run in wanted):
            return None
        return {token: self._known[token,] for token in ids}, {run: self._known[run] for run in runs}

    async def _ask_all(self, missing: list[Run]) -> None:
        client = self._client()
        size = _RUNS_PER_CALL if await self._separator_text(client) else 1
        missing = [run for run in missing if run not in self._known]
        batches = iter([missing[start : start + size] for start in range(0, len(missing), size)])

        async def work() -> None:
            # All workers draw from one iterator, so each batch is asked for once.
            for batch in batches:
                await self._ask_batch(client, batch)

        workers = [asyncio.create_task(work()) for _ in range(_AT_ONCE)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        await asyncio.sleep(_PAUSE_SECONDS)

    async def _separator_text(self, client: "httpx2.AsyncClient") -> str | None:
        """What to cut at; None where no separator is known, or its text might be part of another."""
        if self.separator is None:
            return None
        alone = (self.separator,)
        if alone not in self._known:
            self._known[alone] = await self._ask(client, alone)
        text = self._known[alone]
        return text if _SPECIAL.fullmatch(text) else None

    async def _ask_batch(self, client: "httpx2.AsyncClient", batch: list[Run]) -> None:
        between = await self._separator_text(client) if len(batch) > 1 else None
        if between is not None and self.separator is not None:
            ids = [self.separator]
            for run in batch:
                ids += [*run, self.separator]
            parts = (await self._ask(client, tuple(ids))).split(between)
            if len(parts) == len(batch) + 2:
                self._known.update(zip(batch, parts[1:-1], strict=True))
                return
        # The separator itself is among them, or a text that holds its text.
        for run in batch:
            self._known[run] = await self._ask(client, run)

    async def _ask(self, client: "httpx2.AsyncClient", run: Run) -> str:
        body = {"model": self._model, "tokens": list(run)}
        response = await client.post(self._url, json=body, timeout=_ANSWER_SECONDS)
        if not response.is_success:
            raise _NoTokenizer
        _, value = parse(response.content.decode("utf-8", "replace"))
        holder = a_dict(value)
        text = next((holder[name] for name in _TEXT_NAMES if isinstance(holder.get(name), str)), None)
        if not isinstance(text, str):
            raise _NoTokenizer
        return text
