"""Container of a glTF 2.0 document: a binary file with its chunks, or a text file with buffers beside it.

Source: glTF 2.0 specification, 3.6.1 (buffers), 4.4 (GLB layout).
"""

import base64
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.formats.guard.limits import GLTF_BYTES, MESH_BYTES
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.tracer.scenes.gltf.check import check_document, check_uri, whole

DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
QUANTISED = "KHR_mesh_quantization"
_MAGIC, _JSON_CHUNK, _BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942


def open_gltf(path: Path, appearance: tuple[str, ...] = ()) -> tuple[dict[str, Any], list[memoryview]]:
    """A checked document and its buffers. Extensions that begin with a word of ``appearance`` may be required."""
    document, binary = read_gltf(path)
    check_document(path, document)
    for name in document.get("extensionsRequired", []):
        if name != QUANTISED and not (appearance and str(name).startswith(appearance)):
            raise UserError(f"{path}: extensionsRequired must be of extensions that are read here, found {name}")
    return document, read_buffers(path, document, binary)


@contextmanager
def damage_of(path: Path) -> Iterator[None]:
    """Turn what a damaged document raises into one ``UserError`` that names the file."""
    try:
        yield
    except DAMAGE as error:
        raise UserError(f"{path}: damaged glTF document: {type(error).__name__}: {reason_of(error)}") from error


def read_gltf(path: Path) -> tuple[dict[str, Any], memoryview | None]:
    """Document of a .glb or .gltf file, and the binary chunk where it has one; ``UserError`` for another file."""
    if path.suffix.lower() == ".gltf":
        document, binary = parse_json(read_text(path, "glTF file", GLTF_BYTES), path), None
    else:
        chunks = _chunks(path)
        if _JSON_CHUNK not in chunks:
            raise UserError(f"{path}: a GLB file must have a JSON chunk, found none")
        GLTF_BYTES.check(len(chunks[_JSON_CHUNK]), "its JSON chunk", file=path)
        try:
            text = str(chunks[_JSON_CHUNK], "utf-8")
        except ValueError as error:
            raise UserError(f"{path}: the JSON chunk of a GLB file must be UTF-8: {error}") from None
        document, binary = parse_json(text, f"{path}: the JSON chunk"), chunks.get(_BIN_CHUNK, memoryview(b""))
    if not isinstance(document, dict):
        raise UserError(f"{path}: a glTF document must be an object, found {type(document).__name__}")
    return document, binary


def _chunks(path: Path) -> dict[int, memoryview]:
    """The first chunk of each kind."""
    MESH_BYTES.check(path.stat().st_size, "its length", file=path)
    data = memoryview(path.read_bytes())
    if len(data) < 20 or struct.unpack_from("<I", data)[0] != _MAGIC:
        raise UserError(f"{path}: a GLB file must begin with the word glTF, found {bytes(data[:4])!r}")
    _, version, length = struct.unpack_from("<III", data)
    if version != 2 or length > len(data):
        raise UserError(f"{path}: must be glTF 2 of {length} bytes, found version {version} and {len(data)} bytes")
    found: dict[int, memoryview] = {}
    offset = 12
    while offset + 8 <= length:
        size, kind = struct.unpack_from("<II", data, offset)
        if offset + 8 + size > length:
            raise UserError(f"{path}: chunk at byte {offset} must hold {size} bytes, found {length - offset - 8}")
        found.setdefault(kind, data[offset + 8 : offset + 8 + size])
        offset += 8 + size
    return found


def read_buffers(path: Path, document: dict[str, Any], binary: memoryview | None) -> list[memoryview]:
    """Bytes of the buffers of a checked document; ``ValueError`` for one that is shorter than it says."""
    found = []
    for number, buffer in enumerate(document.get("buffers", [])):
        uri, place = buffer.get("uri"), f"buffers[{number}]"
        if uri is None:
            if number or binary is None:
                raise ValueError(f"{place} must have a uri")
            data = binary
        else:
            data = memoryview(read_uri(path, uri, place))
        length = whole(buffer.get("byteLength"), f"{place}: byteLength")
        if len(data) < length:
            raise ValueError(f"{place} must hold {length} bytes, found {len(data)}")
        found.append(data[:length])
    return found


def read_uri(path: Path, uri: Any, place: str) -> bytes:
    """Bytes of a data URI, or of a file in the document's folder; ``ValueError`` for another."""
    check_uri(path, uri, f"{place}.uri")
    if uri.startswith("data:"):
        return base64.b64decode(uri.partition(",")[2], validate=True)
    file = path.parent / unquote(uri)
    MESH_BYTES.check(file.stat().st_size, "its length", file=file)
    return file.read_bytes()


def files_of(path: Path, kinds: tuple[str, ...] = ("buffers",)) -> list[Path]:
    """A glTF file and the files that hold its ``buffers`` or ``images``; ``UserError`` for a damaged one."""
    document, _ = read_gltf(path)
    try:
        check_document(path, document)
        uris = [entry.get("uri") for kind in kinds for entry in document.get(kind, [])]
        beside = [path.parent / unquote(uri) for uri in uris if uri is not None and not uri.startswith("data:")]
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UserError(f"{path}: damaged glTF document: {type(error).__name__}: {reason_of(error)}") from error
    return [path, *(file for file in dict.fromkeys(beside) if file.is_file())]
