"""Requests of a program and replies to them, on a socket: a head of two words each, then bytes.

A request has a number (``Ask``; ``cuda/shim/shim.h`` has the same) and a length; a reply has an error code of CUDA's
(``cudaError_t``) and a length. A program is the user's own code, and may still be wrong: what it sends is checked.
"""

import socket
import struct
from enum import IntEnum

from rayplay.formats.guard.errors import UserError

HEAD = struct.Struct("<II")
MOST_BYTES = 1 << 30


class Ask(IntEnum):
    """Subjects of requests."""

    BINARY = 1
    FUNCTION = 2
    VARIABLE = 3
    MEMORY = 4
    FREE = 5
    LAUNCH = 6
    TEXTURE = 7
    SURFACE = 8
    CARD = 9


class Error(IntEnum):
    """Codes of ``cudaError_t`` that replies have."""

    NONE = 0
    INVALID_VALUE = 1
    NO_MEMORY = 2
    INVALID_CONFIGURATION = 9
    INVALID_SYMBOL = 13
    INVALID_FUNCTION = 98
    ILLEGAL_ADDRESS = 700
    ASSERT = 710
    LAUNCH_FAILURE = 719
    COOPERATIVE_TOO_LARGE = 720


class Refused(Exception):  # noqa: N818 - an answer, no failure of ours
    """A request that is answered with an error code, as CUDA does it, and has no other effect."""

    def __init__(self, code: Error) -> None:
        super().__init__(code.name)
        self.code = code


class Fields:
    """The bytes of a request, read from the first to the last. Raises ``UserError`` for a request of another shape."""

    def __init__(self, what: str, data: bytes) -> None:
        self.what, self.data, self.at = what, data, 0

    def read(self, layout: str) -> tuple[int, ...]:
        """Numbers, as ``struct`` names them."""
        found = struct.Struct(f"<{layout}")
        if len(self.data) - self.at < found.size:
            raise UserError(f"{self.what}: a request must have {self.at + found.size} bytes, found {len(self.data)}")
        self.at += found.size
        return found.unpack_from(self.data, self.at - found.size)

    def take(self, size: int) -> bytes:
        """That many bytes."""
        if not 0 <= size <= len(self.data) - self.at:
            raise UserError(f"{self.what}: a request must have {size} more bytes, found {len(self.data) - self.at}")
        self.at += size
        return self.data[self.at - size : self.at]

    def rest(self) -> bytes:
        """All bytes that are left."""
        return self.take(len(self.data) - self.at)

    def end(self) -> None:
        """Nothing may be left."""
        if self.at != len(self.data):
            raise UserError(f"{self.what}: a request must have {self.at} bytes, found {len(self.data)}")


def receive(connection: socket.socket) -> tuple[Ask, Fields] | None:
    """The next request, or None when the program has ended. Raises ``UserError`` for bytes that are no request."""
    head = _exactly(connection, HEAD.size)
    if head is None:
        return None
    number, size = HEAD.unpack(head)
    if number not in set(Ask) or size > MOST_BYTES:
        raise UserError(f"the program sent a request {number} of {size} bytes, which the runtime does not send")
    data = _exactly(connection, size)
    return None if data is None else (Ask(number), Fields(Ask(number).name.lower(), data))


def reply(connection: socket.socket, code: int, data: bytes = b"") -> None:
    """Answer a request."""
    connection.sendall(HEAD.pack(code, len(data)) + data)


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    found = bytearray()
    while len(found) < size:
        try:
            part = connection.recv(min(size - len(found), 1 << 20))
        except ConnectionError:
            return None
        if not part:
            return None
        found += part
    return bytes(found)
