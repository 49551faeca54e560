"""The shared libraries that a program of Linux needs, as its ELF file says."""

import struct
from pathlib import Path

from rayplay.formats.guard.errors import UserError

DYNAMIC, NEEDED, STRINGS = 6, 1, 5  # section type SHT_DYNAMIC; tags DT_NEEDED and DT_STRTAB
SECTION = struct.Struct("<IIQQQQIIQQ")
MOST_BYTES = 1 << 32


def needed_libraries(path: Path) -> list[str]:
    """Names of the libraries that a program or library needs (``DT_NEEDED``), in order.

    Raises ``UserError`` for a file that is no 64-bit ELF file of a little-endian machine, or a damaged one.
    """
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            raise UserError(f"{path}: must be a 64-bit program of Linux (ELF)")
        start, size, count = struct.unpack_from("<Q", head, 40)[0], *struct.unpack_from("<HH", head, 58)
        if size != SECTION.size:
            raise UserError(f"{path}: must have section headers of {SECTION.size} bytes, found {size}")

        def part(offset: int, length: int) -> bytes:
            if length > MOST_BYTES or offset > MOST_BYTES:
                raise UserError(f"{path}: names a part of {length} bytes at {offset}, which the file has not")
            file.seek(offset)
            found = file.read(length)
            if len(found) != length:
                raise UserError(f"{path}: ends within a part of {length} bytes at {offset}")
            return found

        sections = [SECTION.unpack(part(start + number * size, size)) for number in range(count)]
        return [name for section in sections if section[1] == DYNAMIC for name in _names(path, section, sections, part)]


def _names(path: Path, section: tuple, sections: list[tuple], part) -> list[str]:  # type: ignore[no-untyped-def]
    """Names of one dynamic section; its link is the section of its strings."""
    if section[6] >= len(sections):
        raise UserError(f"{path}: its dynamic section names section {section[6]} of {len(sections)}")
    strings = part(*sections[section[6]][4:6])
    found = []
    for tag, value in struct.iter_unpack("<QQ", part(section[4], section[5] // 16 * 16)):
        if tag == NEEDED:
            found.append(strings[value : strings.find(b"\0", value)].decode(errors="replace"))
    return found
