"""A kernel file of Accel-Sim, read a few CTAs at a time."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rayplay.formats.exchange.accelsim import parse
from rayplay.formats.exchange.accelsim.files import Header, read_header, text_chunks
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.xz import open_packed

CHUNK_INSTRUCTIONS = 1 << 16
KEPT_INSTRUCTIONS = 1 << 18


@dataclass(frozen=True)
class Piece:
    """Executed instructions, and their warps.

    warp     int64[n], index in cta and warp_in_cta; first_warp is the number of the first in the file
    pc, mask, opcode, register, width   as in ``parse.Rows``
    lanes    int64[n], how many of address belong to each instruction
    cta, warp_in_cta   int64[warps]
    """

    first_warp: int
    warp: np.ndarray
    pc: np.ndarray
    mask: np.ndarray
    opcode: np.ndarray
    register: np.ndarray
    width: np.ndarray
    lanes: np.ndarray
    address: np.ndarray
    cta: np.ndarray
    warp_in_cta: np.ndarray


@dataclass
class KernelReader:
    """Reads one kernel file piece by piece."""

    path: Path
    header: Header = field(init=False)
    names: parse.Names = field(default_factory=parse.make_names)
    memo: parse.Memo = field(default_factory=parse.make_memo)
    name_count: int = 0
    lines: int = 0  # before the text that is being parsed

    def chunks(self) -> Iterator[tuple[parse.Rows, int, int]]:
        """Rows as they are parsed, with how many instructions and warps they hold; they are overwritten next time."""
        rows = parse.make_rows(CHUNK_INSTRUCTIONS)
        state = np.zeros(len(parse.STATE), np.int64)
        state[parse.NAMES] = self.name_count
        for text in self.texts():
            skipped = self.header.skipped_tokens + self.header.has_line
            data = np.frombuffer(text, np.uint8)
            state[parse.AT] = 0
            status = parse.FULL
            while status == parse.FULL:
                status, count, warps = parse.parse_lines(data, state, rows, skipped)
                wrong = parse.parse_operations(data, state, self.names, self.memo, rows, count)
                self.name_count = int(state[parse.NAMES])
                if wrong != parse.OK or status not in (parse.OK, parse.FULL):
                    raise self._error(wrong or status, text, state)
                yield rows, count, warps
            self.lines += text.count(b"\n")
        if state[parse.LEFT] > 0:
            raise self._error(parse.TOO_FEW_LINES, b"\n", state)

    def texts(self) -> Iterator[bytes]:
        """Whole lines behind the header, some megabytes at a time; sets ``header`` and ``lines``."""
        with open_packed(self.path) as file:
            self.header, self.lines = read_header(self.path, file)
            yield from text_chunks(self.path, file)

    def line_of(self, number: int) -> int:
        """The line of the file that a line of ``texts`` and its header is."""
        return number

    def _error(self, status: int, text: bytes, state: np.ndarray) -> FormatError:
        at = min(int(state[parse.AT]), len(text) - 1)
        begin, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
        line = text[begin:end].decode("utf-8", "replace").strip()[:80]
        number = self.line_of(self.lines + text.count(b"\n", 0, begin) + 1)
        place = f"{self.path}:{number}:{at - begin + 1}"
        return FormatError(f"{place}: {parse.MESSAGES[status]}, in: {line!r}")

    def place_of(self, opcode: str) -> str:
        """Path and line of the first instruction with an opcode; reads the file once more, as no row keeps its line."""
        word = opcode.encode()
        with open_packed(self.path) as file:
            _, first = read_header(self.path, file)
            for number, line in enumerate(file, first + 1):
                if word in line and word in line.split():
                    return f"{self.path}:{number}"
        return str(self.path)

    def opcode_names(self) -> list[str]:
        """Opcodes by number, of all chunks so far."""
        bounds = self.names.start[: self.name_count + 1].tolist()
        held = self.names.held.tobytes()
        return [held[a:b].decode("utf-8", "replace") for a, b in itertools.pairwise(bounds)]


def whole_ctas(reader: KernelReader) -> Iterator[Piece]:
    """The file's instructions, a few CTAs at a time, the warps of each CTA in order."""
    rest: Piece | None = None
    cta, last = -1, np.full(3, -1, np.int64)
    for rows, count, warps in reader.chunks():
        places = rows.warps[:warps]
        before = np.concatenate([last[None], places[:, :3]])[:warps]
        ctas = cta + np.cumsum((places[:, :3] != before).any(1))
        if warps:
            cta, last = int(ctas[-1]), places[-1, :3].copy()
        rest = _join(rest, rows, count, ctas, places[:, 3])
        complete = int(np.searchsorted(rest.cta, cta))
        if complete:
            yield _in_order(_warps(rest, 0, complete))
            rest = _warps(rest, complete, len(rest.cta))
    if rest is not None and len(rest.cta):
        yield _in_order(rest)


class Pieces:
    """Pieces of a kernel file for repeated passes: a few are kept in memory, many are read again."""

    def __init__(self, reader: KernelReader) -> None:
        self._reader = reader
        self._kept: list[Piece] = []

    def __iter__(self) -> Iterator[Piece]:
        if self._kept:
            yield from self._kept
            return
        kept, instructions = [], 0
        for piece in whole_ctas(self._reader):
            instructions += len(piece.pc)
            kept.append(piece)
            if instructions > KEPT_INSTRUCTIONS:
                kept.clear()
            yield piece
        self._kept = kept if instructions <= KEPT_INSTRUCTIONS else []


def _join(rest: Piece | None, rows: parse.Rows, count: int, ctas: np.ndarray, warp_in_cta: np.ndarray) -> Piece:
    """Join the rest of the previous chunk and a chunk's rows."""
    lanes = np.diff(rows.first_address[: count + 1])
    address = rows.address[: rows.first_address[count]]
    first = rest.first_warp if rest else 0
    new = Piece(
        first, rows.warp[:count] - first, rows.pc[:count], rows.mask[:count], rows.opcode[:count],
        rows.register[:count], rows.width[:count], lanes, address, ctas, warp_in_cta,
    )  # fmt: skip
    columns = [name for name in Piece.__dataclass_fields__ if name != "first_warp"]
    parts = [new] if rest is None else [rest, new]
    return Piece(first, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in columns})


def _warps(piece: Piece, begin: int, end: int) -> Piece:
    """The warps from ``begin`` to before ``end``."""
    first, last = np.searchsorted(piece.warp, [begin, end])
    address = np.concatenate([[0], np.cumsum(piece.lanes)])
    rows = {name: getattr(piece, name)[first:last] for name in ("pc", "mask", "opcode", "register", "width", "lanes")}
    return Piece(
        first_warp=piece.first_warp + begin, warp=piece.warp[first:last] - begin, **rows,
        address=piece.address[address[first] : address[last]], cta=piece.cta[begin:end],
        warp_in_cta=piece.warp_in_cta[begin:end],
    )  # fmt: skip


def _in_order(piece: Piece) -> Piece:
    """The warps of each CTA sorted; Accel-Sim's tracer writes them so, other writers need not."""
    order = np.lexsort((piece.warp_in_cta, piece.cta))
    if (np.diff(order) == 1).all():
        return piece
    one_by_one = [_warps(piece, warp, warp + 1) for warp in order]
    columns = [name for name in Piece.__dataclass_fields__ if name not in ("first_warp", "warp")]
    joined = {name: np.concatenate([getattr(part, name) for part in one_by_one]) for name in columns}
    warp = np.repeat(np.arange(len(order)), [len(part.pc) for part in one_by_one])
    return Piece(piece.first_warp, warp, **joined)
