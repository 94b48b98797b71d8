"""What a reader should know after a reply about figures that are missing, and how to get them. Says each once."""

from collections.abc import Collection

from specchat.backends.chunks import ChunkReader
from specchat.backends.discovery import REPORT_FLAG, REPORT_SINCE, version_numbers
from specchat.core.server import ServerInfo

_ENGINE_ENDS = {"stop", "length"}


class ClosingNotes:
    """Notes of one server's replies."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def after(self, chunks: ChunkReader, server: ServerInfo | None, left_out: Collection[str]) -> list[str]:
        """The notes for a reply that has ended.

        Args:
            chunks: What the reply held.
            server: What is known of the server.
            left_out: Fields that it refused, about which it was said already.
        """
        notes = []
        if chunks.spoke and not chunks.has_ids and "return_token_ids" not in left_out:
            notes.append("this server sends no token ids, so token origins cannot be known; vLLM does from 0.10.2 on")
        elif self._lacks_report(chunks, server):
            notes.append(
                f"this server sent no per-step report: origins stay inferred from chunks; start vLLM with {REPORT_FLAG}"
            )
        fresh = [note for note in notes if note not in self._said]
        self._said.update(fresh)
        return fresh

    @staticmethod
    def _lacks_report(chunks: ChunkReader, server: ServerInfo | None) -> bool:
        """Would a server with the flag have sent one? There is none for a reply that a stop string ended."""
        ended_by_engine = chunks.finish_reason in _ENGINE_ENDS and not isinstance(chunks.stop_reason, str)
        if chunks.reported or not ended_by_engine or chunks.tokens < 2 or server is None or not server.speculates:
            return False
        numbers = version_numbers(server.version)
        return numbers is None or numbers >= REPORT_SINCE
