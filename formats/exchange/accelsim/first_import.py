"""The first import compiles what every import runs: here, on two cores, before the first file is read."""

from pathlib import Path

import numpy as np
from numba import config

from rayplay.formats.exchange.accelsim import parse
from rayplay.formats.exchange.accelsim.flow import Placed, collect, make_flow, visit_rows
from rayplay.formats.exchange.accelsim.program import Program
from rayplay.formats.exchange.accelsim.reader import Piece
from rayplay.formats.guard.beside import beside
from rayplay.formats.guard.first_use import first_use, no_linear_algebra

IMPORT_SECONDS = 3  # to compile it on two cores


def compile_importer() -> None:
    """Compile the importer's functions, or load them: each is called with nothing to do."""
    works = [] if is_cached() else [parse_no_operations]
    with first_use("the importer", IMPORT_SECONDS), no_linear_algebra(), beside(works) as wait:
        parse_no_lines()
        number_nothing()
        wait()
        parse_no_operations()


def is_cached() -> bool:
    """Whether the largest of them was compiled before, or nothing is (``NUMBA_DISABLE_JIT=1``)."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return True
    return any(Path(parse.parse_operations.stats.cache_path).glob("*"))


def empty_line() -> tuple[np.ndarray, np.ndarray]:
    """Text, and the state before it."""
    return np.frombuffer(b"\n", np.uint8), np.zeros(len(parse.STATE), np.int64)


def parse_no_lines() -> None:
    """Find no instructions in an empty line."""
    parse.parse_lines(*empty_line(), parse.make_rows(0), 0)


def parse_no_operations() -> None:
    """Read the operations of no instructions."""
    parse.parse_operations(*empty_line(), parse.make_names(), parse.make_memo(), parse.make_rows(0), 0)


def number_nothing() -> None:
    """Number and cut into visits no instructions."""
    none, masks, flags = np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, bool)
    rows = parse.make_rows(0)
    piece = Piece(0, none, none, masks, rows.opcode, rows.register, rows.width, none, rows.address, none, none)
    program = Program("")
    program.number_rows(piece, rows.width, none)
    collect(make_flow(0), 0, none, none, np.zeros(2, np.int64))
    visit_rows(Placed(none, none, none, flags, flags, flags), none, none, masks, none, none, none, masks)
