"""Reading time of files whose shape made readers quadratic: ``python -m bench.reading.odd_files``.

Each kind at one size and at twice the size, in process CPU seconds of one core: a reader whose time follows the size
takes twice as long, one that is quadratic four times. ``refused`` stands behind what a limit keeps out.
"""

import json
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.speed.clock import seconds
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.text import parse_toml
from rayplay.tracer.scenes.resolve import load


def one_key(size: int) -> str:
    """TOML of one dotted key."""
    return "a" + ".a" * (size // 2) + " = 1\n"


def dotted_keys(size: int) -> str:
    """TOML of dotted keys of ten parts."""
    return "".join(f"k{number}.b.c.d.e.f.g.h.i.j = 1\n" for number in range(size // 30))


def groups(size: int) -> str:
    """OBJ of a triangle a group."""
    return "".join(f"v {n} 0 0\nv {n} 1 0\nv {n} 0 1\no g{n}\nf -3 -2 -1\n" for n in range(size))


def chain(size: int) -> bytes:
    """GLB of nodes each of which is the child of the one before."""
    nodes: list[dict[str, object]] = [{"children": [number + 1]} for number in range(size)] + [{"mesh": 0}]
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "buffers": [{"byteLength": 36}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0],
                       "max": [1, 1, 0]}],
    }  # fmt: skip
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    data = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(data))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data


def timed(read: Callable[..., object], *given: str) -> str:
    """Seconds of one read, and whether it was refused."""
    refused = []

    def work() -> None:
        try:
            read(*given)
        except UserError as error:
            refused.append(error)

    return f"{seconds(work, runs=1):.2f} s{' refused' if refused else ''}"


def main() -> int:
    """Measure every kind at two sizes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, make, size in (("TOML, one key", one_key, 200_000), ("TOML, dotted keys", dotted_keys, 200_000)):
            taken = [timed(parse_toml, make(size * times), "a.toml") for times in (1, 2)]
            print(f"{name}: {size >> 10} KB {taken[0]}, twice {taken[1]}", flush=True)
        for name, suffix, write, size in (
            ("OBJ, groups", "obj", lambda n: groups(n).encode(), 20_000), ("GLB, chain of nodes", "glb", chain, 90),
            ("GLB, long chain of nodes", "glb", chain, 100_000),
        ):  # fmt: skip
            taken = []
            for times in (1, 2):
                file = Path(folder) / f"{times}-{size}.{suffix}"
                file.write_bytes(write(size * times))
                taken.append(timed(load, str(file)))
            print(f"{name}: {size:,} {taken[0]}, twice {taken[1]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
