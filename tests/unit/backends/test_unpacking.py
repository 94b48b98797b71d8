import gzip
import zlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.backends.unpacking import DamagedData, Unpacker

PACKERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "unlabelled": ("", gzip.compress),
    "members": ("gzip", lambda body: b"".join(gzip.compress(bytes([byte])) for byte in body)),
    "zlib": ("deflate", zlib.compress),
    "plain": ("", bytes),
    "mislabelled": ("gzip", bytes),
}


@given(
    st.sampled_from(sorted(PACKERS)),
    st.text(alphabet="abcä😀 \n", min_size=1, max_size=20),
    st.lists(st.integers(0, 200), max_size=5),
)
def test_every_split_unpacks_to_the_same(packer: str, text: str, cuts: list[int]) -> None:
    coding, pack = PACKERS[packer]
    packed = pack(text.encode())
    unpacker = Unpacker(coding)
    places = sorted({0, len(packed), *(cut for cut in cuts if cut < len(packed))})
    found = b"".join(unpacker.feed(packed[a:b]) for a, b in pairwise(places)) + unpacker.flush()
    assert found == text.encode()


def test_damaged_data_is_a_failure_and_no_silence() -> None:
    packed = bytearray(gzip.compress(b"x" * 1000))
    packed[12] ^= 0xFF
    with pytest.raises(DamagedData):
        Unpacker("gzip").feed(bytes(packed))


@pytest.mark.parametrize(("coding", "body"), [("br", b"\x0b\x02\x80abc\x03"), ("zstd", b"(\xb5/\xfd\x04\x00abc")])
def test_a_coding_that_nobody_asked_for_is_named(coding: str, body: bytes) -> None:
    with pytest.raises(DamagedData, match=f"compressed with {coding}"):
        Unpacker(coding).feed(body)


def test_plain_text_under_such_a_header_is_read() -> None:
    assert Unpacker("br").feed("data: {é}".encode()) == "data: {é}".encode()
