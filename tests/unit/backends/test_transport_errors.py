"""What stands below HTTP becomes a sentence; the inside of a library does not."""

from collections import deque

import httpx2

from specchat.backends.address import Address
from specchat.backends.transport_errors import unreachable


def test_an_empty_queue_inside_the_library_is_no_reason() -> None:
    try:
        try:
            deque[bytes]().popleft()
        except IndexError:
            raise httpx2.ReadError("") from None
    except httpx2.ReadError as error:
        sentence = str(unreachable(error, Address.parse("gpu01:8000")))

    assert "closed the connection" in sentence
    assert "deque" not in sentence
    assert "ReadError" in sentence
