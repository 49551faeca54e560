"""Reader of texts that may be packed as .xz; memory, amount and compression ratio are limited while unpacking."""

import io
import lzma
from pathlib import Path
from typing import BinaryIO, cast

from rayplay.formats.guard.errors import FormatError, reason_of
from rayplay.formats.guard.limits import DICTIONARY_BYTES, RATIO, UNPACKED_BYTES

PIECE_BYTES = 1 << 20
RATIO_COUNTS_FROM = 16 << 20


def open_packed(path: Path) -> BinaryIO:
    """Open a file's bytes, unpacked when its name ends in .xz; reading raises ``FormatError`` for damage and bombs."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read: {reason_of(error)}", file=path) from None
    if path.suffix != ".xz":
        return file
    return cast(BinaryIO, io.BufferedReader(_Unpacked(path, file), PIECE_BYTES))


class _Unpacked(io.RawIOBase):
    """The streams of an .xz file one after the other; zero bytes may pad each to a multiple of four."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file = path, file
        self._most, self._ratio, self._memory = UNPACKED_BYTES.value(), RATIO.value(), DICTIONARY_BYTES.value()
        self._packed = self._unpacked = 0
        self._stream = self._new_stream()

    def _new_stream(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=self._memory)

    def readable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Close the packed file."""
        self._file.close()
        super().close()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Unpack at most ``len(buffer)`` bytes; 0 at the end."""
        try:
            data = self._some(len(buffer))
        except lzma.LZMAError as error:
            raise FormatError(_message(error), file=self._path) from None
        self._unpacked += len(data)
        self._check()
        buffer[: len(data)] = data
        return len(data)

    def _some(self, most: int) -> bytes:
        while True:
            packed = b""
            if self._stream.eof:
                packed = self._stream.unused_data.lstrip(b"\0")
                if not (packed or (packed := self._next_piece().lstrip(b"\0"))):
                    return b""
                self._stream = self._new_stream()
            elif self._stream.needs_input and not (packed := self._next_piece()):
                raise FormatError("must be whole: it ends before its .xz stream does", file=self._path)
            data = self._stream.decompress(packed, most)
            if data:
                return data

    def _next_piece(self) -> bytes:
        packed = self._file.read(PIECE_BYTES)
        self._packed += len(packed)
        return packed

    def _check(self) -> None:
        UNPACKED_BYTES.check(self._unpacked, "what it unpacks to", file=self._path)
        if self._unpacked > RATIO_COUNTS_FROM and self._unpacked > self._ratio * self._packed:
            RATIO.check(-(-self._unpacked // self._packed), "what it unpacks to", file=self._path)


def _message(error: lzma.LZMAError) -> str:
    if "memory" in str(error).lower():
        raised = DICTIONARY_BYTES.raised_by("N")
        return f"unpacking must need at most {DICTIONARY_BYTES.value()} bytes of memory; {raised}"
    return f"must be whole: {reason_of(error)}"
