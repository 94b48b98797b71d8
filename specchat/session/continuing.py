"""What is to be said about a reply that should go on where another ended: the server may refuse it, or begin anew."""

from specchat.core.errors import FieldRefused, SpecchatError
from specchat.core.server import ServerInfo

_FIELDS = {"continue_final_message", "add_generation_prompt"}
_ENOUGH = 24
"""Characters: an answer that repeats so many of another's beginning was begun anew."""


def continuation_error(error: SpecchatError | None) -> SpecchatError | None:
    """The failure of a continuation: where the server refuses to continue, a sentence about that and not its fields."""
    if not isinstance(error, FieldRefused) or not _FIELDS & set(error.fields):
        return error
    return FieldRefused(
        "This server cannot continue a reply: it refuses continue_final_message, which vLLM knows.",
        "Ask it in words to go on, or ask again with /regenerate.",
        status=error.status,
        fields=error.fields,
    )


def continuation_notes(said: str, more: str, server: ServerInfo) -> list[str]:
    """What a reader should know of a continuation that the server did not refuse.

    Args:
        said: The answer so far, as the server was given it.
        more: What came.
        server: Who was asked.
    """
    begins = said.strip()[:_ENOUGH]
    if len(begins) == _ENOUGH and more.strip().startswith(begins):
        return ["the server began its answer anew instead of going on where it ended"]
    if server.version is None:
        return ["this server does not say that it is vLLM: others may ignore the wish to go on, and answer anew"]
    return []
