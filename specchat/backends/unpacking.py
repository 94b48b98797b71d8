"""Undoes gzip and deflate of a stream as it arrives, by what the bytes are instead of what the headers say.

Proxies compress what nobody asked them to, forget the header, or leave it behind after unpacking; and a gzip body may
have several members, of which common decoders read the first.
"""

import re
import zlib

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_BITS = 31
_RAW_DEFLATE_BITS = -15
_NOT_READ = {"br", "zstd", "compress"}
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]|\xb5/\xfd")
_LOOKED_AT = 64


class DamagedData(Exception):
    """Compressed data that cannot be unpacked."""


class Unpacker:
    """Unpacks one body, piece by piece."""

    def __init__(self, coding: str) -> None:
        """Start.

        Args:
            coding: The content-encoding header, or "".
        """
        self._coding = coding.strip().lower()
        self._held = b""
        self._decided = False
        self._bits = 0
        self._inflate: zlib._Decompress | None = None

    def feed(self, piece: bytes) -> bytes:
        """Take the next bytes; returns what they unpack to.

        Raises:
            DamagedData: If it cannot be unpacked; what came before stays good.
        """
        if not self._decided:
            self._held += piece
            if len(self._held) < len(_GZIP_MAGIC):
                return b""
            piece, self._held = self._held, b""
            self._decide(piece)
        if self._inflate is None:
            return piece
        try:
            return self._unpack(piece)
        except zlib.error as error:
            raise DamagedData(f"the compressed data is damaged ({error})") from error

    def flush(self) -> bytes:
        """What is left of a body of a byte or two."""
        held, self._held = self._held, b""
        return held

    def _decide(self, start: bytes) -> None:
        self._decided = True
        if start.startswith(_GZIP_MAGIC):
            self._bits = _GZIP_BITS
        elif self._coding == "deflate" and not start[:1].isspace() and start[:1] not in {b"d", b"e", b":", b"{", b"<"}:
            is_zlib = start[0] & 0x0F == zlib.DEFLATED and (start[0] << 8 | start[1]) % 31 == 0
            self._bits = zlib.MAX_WBITS if is_zlib else _RAW_DEFLATE_BITS
        elif self._coding in _NOT_READ and _BINARY.search(start[:_LOOKED_AT]):
            raise DamagedData(f"it is compressed with {self._coding}, which was not asked for")
        if self._bits:
            self._inflate = zlib.decompressobj(self._bits)

    def _unpack(self, piece: bytes) -> bytes:
        found = b""
        while piece and self._inflate is not None:
            found += self._inflate.decompress(piece)
            piece = self._inflate.unused_data if self._inflate.eof else b""
            if piece:
                self._inflate = zlib.decompressobj(self._bits)
        return found
