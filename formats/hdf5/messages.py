"""Messages between a process and its child that reads HDF5: a JSON object, then the bytes of arrays.

Nothing is unpickled and the receiver bounds the size: a malicious file may have taken over the child.
"""

import json
import socket
from collections.abc import Sequence
from typing import Any

import numpy as np

HEAD_BYTES = 8
MOST_HEAD = 1 << 20


def send(connection: socket.socket, head: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
    """Send ``head`` and the arrays, whose lengths in bytes it will hold as ``bytes``."""
    text = json.dumps(head | {"bytes": [array.nbytes for array in arrays]}).encode()
    connection.sendall(len(text).to_bytes(HEAD_BYTES, "little") + text)
    for array in arrays:
        if array.nbytes:
            connection.sendall(np.ascontiguousarray(array).data.cast("B"))


def receive(connection: socket.socket, most_bytes: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The head and the arrays (uint8) of a message, together at most ``most_bytes`` long.

    Raises ``EOFError`` when the other side is gone, ``ValueError`` for a malformed message.
    """
    length = int.from_bytes(_exactly(connection, HEAD_BYTES), "little")
    if length > MOST_HEAD:
        raise ValueError(f"a head of {length} bytes")
    head = json.loads(bytes(_exactly(connection, length)))
    sizes = head.get("bytes") if isinstance(head, dict) else None
    if not isinstance(sizes, list) or not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise ValueError("a head without the lengths of its arrays")
    if sum(sizes) > most_bytes:
        raise ValueError(f"{sum(sizes)} bytes, more than {most_bytes}")
    return head, [np.frombuffer(_exactly(connection, size), np.uint8) for size in sizes]


def _exactly(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while len(view):
        count = connection.recv_into(view)
        if count == 0:
            raise EOFError
        view = view[count:]
    return data
