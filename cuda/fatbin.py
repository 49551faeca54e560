"""Device code in a program: fatbins, the containers that nvcc puts into host code, and the PTX in them.

A fatbin is a header and images, each PTX or an ELF file of one architecture, often compressed by LZ4 or Zstandard. The
layout is not documented by NVIDIA; public readers of it agree (docs/programs/cuda.md).
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES

MAGIC = 0xBA55ED50
HEADER = struct.Struct("<IHHQ")  # magic, version, bytes of the header, bytes behind it
IMAGE = struct.Struct("<HHIQIIHHI8xQ8xQ")
"""kind, version, bytes of the header, bytes behind it, bytes of compressed data, -, minor, major, architecture, (name,)
flags, bytes of the unpacked data."""
PTX, ELF = 1, 2
COMPRESSED = {0x2000: "lz4_raw", 0x8000: "zstd"}


class DeviceImage(NamedTuple):
    """One image: ``kind`` is PTX or ELF, ``architecture`` such as 75; ``data`` as it lies, packed by ``codec``."""

    kind: int
    architecture: int
    data: bytes
    codec: str
    unpacked_bytes: int

    def text(self, place: str) -> str:
        """The PTX text. Raises ``UserError`` for data that do not unpack, or to more than may be read."""
        data = self.data
        if self.codec:
            LIST_BYTES.check(self.unpacked_bytes, "the size of its PTX", file=place)
            try:
                data = pa.Codec(self.codec).decompress(data, self.unpacked_bytes, asbytes=True)
            except (OSError, ValueError, pa.ArrowException) as error:
                raise UserError(f"{place}: its PTX does not unpack: {error}") from None
        return data.rstrip(b"\0").decode(errors="replace")


def images_of(fatbin: bytes, place: str) -> Iterator[DeviceImage]:
    """The images of a fatbin in order. Raises ``UserError`` for one that is damaged."""
    if len(fatbin) < HEADER.size:
        raise UserError(f"{place}: a fatbin must have at least {HEADER.size} bytes, found {len(fatbin)}")
    magic, _, header, size = HEADER.unpack_from(fatbin)
    if magic != MAGIC or header < HEADER.size or header + size > len(fatbin):
        raise UserError(
            f"{place}: a fatbin must begin with {MAGIC:#x} and its sizes, found {magic:#x}, {header}, {size}"
        )
    at, end = header, header + size
    while at < end:
        if end - at < IMAGE.size:
            raise UserError(f"{place}: byte {at}: an image must have at least {IMAGE.size} bytes, found {end - at}")
        kind, _, begin, length, packed, _, _, _, architecture, flags, unpacked = IMAGE.unpack_from(fatbin, at)
        if begin < IMAGE.size or at + begin + length > end or packed > length:
            raise UserError(
                f"{place}: byte {at}: an image must lie in its fatbin, found sizes {begin}, {length}, {packed}"
            )
        codec = next((name for flag, name in COMPRESSED.items() if flags & flag), "")
        data = fatbin[at + begin : at + begin + (packed if codec else length)]
        yield DeviceImage(kind, architecture, data, codec, unpacked)
        at += begin + length


def newest_ptx(fatbin: bytes, place: str) -> DeviceImage:
    """The PTX of the newest architecture. Raises ``UserError`` for a fatbin without PTX."""
    found = list(images_of(fatbin, place))
    texts = [image for image in found if image.kind == PTX]
    if not texts:
        only = ", ".join(f"sm_{image.architecture}" for image in found if image.kind == ELF) or "nothing"
        raise UserError(
            f"{place}: must have PTX, found {only}: compile it with -gencode arch=compute_75,code=compute_75 "
            "(or without code=sm_75 alone)"
        )
    return max(texts, key=lambda image: image.architecture)
