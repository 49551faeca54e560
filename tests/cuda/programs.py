"""Programs for the tests: fatbins made here, and the host program of ``data/host.c``, compiled by the C compiler."""

import shutil
import struct
import subprocess
from pathlib import Path

import pyarrow as pa

from rayplay.cuda.fatbin import ELF, HEADER, IMAGE, MAGIC, PTX
from rayplay.cuda.library import build_library

DATA = Path(__file__).parent / "data"
HAS_COMPILER = shutil.which("cc") is not None
FLAGS = {"": 0x11, "lz4_raw": 0x2011, "zstd": 0x8011}


def image(kind: int, architecture: int, text: bytes, codec: str = "") -> bytes:
    """One image of a fatbin."""
    packed = pa.Codec(codec).compress(text, asbytes=True) if codec else text
    padded = packed + b"\0" * (-len(packed) % 8)
    sizes = (len(packed), len(text)) if codec else (0, 0)
    head = (kind, 0x101, IMAGE.size, len(padded), sizes[0], 0, 0, 9, architecture, FLAGS[codec], sizes[1])
    return IMAGE.pack(*head) + padded


def fatbin(*images: bytes) -> bytes:
    """A fatbin of images."""
    body = b"".join(images)
    return HEADER.pack(MAGIC, 1, HEADER.size, len(body)) + body


def ptx_fatbin(text: str, codec: str = "") -> bytes:
    """A fatbin as nvcc makes it: an ELF image, and the PTX."""
    return fatbin(image(ELF, 75, b"\x7fELF" + bytes(60)), image(PTX, 75, text.encode() + b"\0", codec))


def binary_request(*fatbins: bytes) -> bytes:
    """The request that registers fatbins together."""
    return struct.pack("<Q", len(fatbins)) + b"".join(struct.pack("<Q", len(each)) + each for each in fatbins)


def compile_host(folder: Path, codec: str = "lz4_raw", version: int = 13) -> Path:
    """The host program, linked with the library that it would load of CUDA."""
    found = ptx_fatbin((DATA / "kernels.ptx").read_text(), codec)
    (folder / "fatbin.inc").write_text(",".join(map(str, found)))
    library, made = build_library(version, folder), folder / f"host{version}"
    words = ["cc", "-O0", "-w", "-pthread", f"-I{folder}", str(DATA / "host.c"), str(library), "-o", str(made)]
    subprocess.run(words, check=True)
    library.unlink()  # rayplay run brings its own
    return made
