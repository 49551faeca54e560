"""Static instructions as Accel-Sim writes them: the text before and after the mask in each line of a kernel file.

SASS keeps its opcode. PTX becomes the opcode of its class that Accel-Sim times alike
(``docs/sources/accel-sim.md#export``). Registers are R0 to R254: uniform and predicate registers are left out
(Accel-Sim cannot read them), higher numbers wrap around, one destination and four sources stay.
"""

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.exchange.accelsim import sass_classes
from rayplay.formats.exchange.accelsim.text import EXIT, MEMORY, PLAIN, Lines
from rayplay.formats.exchange.accelsim.tokens import UNIFORM_REGISTER
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.trace import MEMORY_CLASSES, RECORDED_SPACES

REGISTERS, SOURCES = 255, 4
ACCEL_SIM_MAPS = (75, 86)
SASS = {
    "int": "IADD3", "fp32": "FFMA", "fp64": "DFMA", "fp16": "HFMA2", "sfu": "MUFU.RCP", "move": "MOV", "convert": "I2F",
    "predicate": "ISETP.NE.AND", "constant": "LDC", "branch": "BRA", "barrier": "BAR.SYNC", "fence": "MEMBAR.SC.GPU",
    "shuffle": "SHFL.IDX", "runtime": "MOV", "matrix": "HMMA.16816.F32", "exit": "EXIT", "other": "NOP",
    "trace": "NOP", "load": "MOV", "store": "MOV", "atomic": "MOV", "texture": "MOV",
}  # fmt: skip
"""Of classes without recorded addresses; a load of a parameter or constant becomes a move."""
MEMORY_SASS = {
    ("load", "shared"): "LDS", ("load", "generic"): "LD.E", ("store", "shared"): "STS", ("store", "generic"): "ST.E",
    ("store", "global"): "STG.E", ("store", "local"): "STG.E", ("atomic", "shared"): "ATOMS.ADD",
    ("atomic", "global"): "ATOMG.E.ADD", ("atomic", "generic"): "ATOM.E.ADD",
}  # fmt: skip
"""All others are ``LDG.E``: our local addresses are those of memory, which Accel-Sim would spread once more."""
WIDTHS = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}


def kernel_lines(trace: Trace, kernel: int) -> Lines:
    """The lines of one launch's instructions, by ``instruction_id``."""
    rows = trace.read("instructions")
    is_sass = str(trace.read("kernels", ["source"])["source"][kernel]) == "sass"
    own = rows["kernel_id"] == kernel
    pcs = sass_classes.program_counters(rows)
    recorded = np.isin(rows["operation_class"].astype(str), MEMORY_CLASSES)
    recorded &= np.isin(rows["memory_space"].astype(str), RECORDED_SPACES)
    text, head, tail = bytearray(), [0], []
    kinds = np.full(len(own), PLAIN, np.uint8)
    for row in range(len(own)):
        if own[row]:
            text += b"%04x " % pcs[row]
        tail.append(len(text))
        if own[row]:
            opcode = str(rows["opcode"][row]) if is_sass else sass_opcode(rows, row, bool(recorded[row]))
            text += _tail(rows, row, opcode, bool(recorded[row]), is_sass).encode()
            kinds[row] = MEMORY if recorded[row] else EXIT if opcode.partition(".")[0] == "EXIT" else PLAIN
        head.append(len(text))
    added = np.frombuffer(b"%04x " % (pcs[own].max(initial=-sass_classes.PC_BYTES) + sass_classes.PC_BYTES), np.uint8)
    return Lines(
        np.frombuffer(bytes(text), np.uint8), np.array(head, np.int64), np.array(tail, np.int64), kinds,
        np.frombuffer(b" 0 EXIT 0 0 0", np.uint8), added,
    )  # fmt: skip


def sass_opcode(rows: Columns, row: int, recorded: bool) -> str:
    """SASS opcode that represents an instruction of PTX."""
    kind, space = str(rows["operation_class"][row]), str(rows["memory_space"][row])
    if not recorded:
        return SASS[kind]
    width = int(rows["access_bytes"][row])
    return MEMORY_SASS.get((kind, space), "LDG.E") + WIDTHS[min(16, 1 << max(width - 1, 0).bit_length())]


def _tail(rows: Columns, row: int, opcode: str, recorded: bool, is_sass: bool) -> str:
    """Text after the mask: registers, opcode and width, and without addresses the immediate."""
    written = _registers(rows, row, "destination_registers", is_sass)[:1]
    read = _registers(rows, row, "source_registers", is_sass)[:SOURCES]
    width = min(16, 1 << max(int(rows["access_bytes"][row]) - 1, 0).bit_length()) if recorded else 0
    words = ["", str(len(written)), *written, opcode, str(len(read)), *read, str(width)]
    immediate = sass_classes.spared_groups(opcode, str(rows["text"][row])) if opcode.startswith("DEPBAR") else 0
    return " ".join(words if recorded else [*words, str(immediate)])


def _registers(rows: Columns, row: int, name: str, is_sass: bool) -> list[str]:
    start, end = (int(offset) for offset in rows[f"{name}_offset"][row : row + 2])
    numbers = rows[name][start:end].tolist()
    if is_sass:
        return [f"R{number}" for number in numbers if number < UNIFORM_REGISTER]
    return [f"R{number % REGISTERS}" for number in numbers]


def binary_version(trace: Trace, kernel: int) -> int:
    """The instruction set of an imported launch, where it has a mark; else 75 or 86, which knows all its opcodes."""
    kernels, rows = trace.read("kernels", ["source"]), trace.read("instructions", ["kernel_id", "opcode", "text"])
    if str(kernels["source"][kernel]) != "sass":
        return ACCEL_SIM_MAPS[0]
    own = rows["kernel_id"] == kernel
    earlier = min((sass_classes.marked(str(text)) for text in rows["text"][own]), default=ACCEL_SIM_MAPS[0])
    if earlier < ACCEL_SIM_MAPS[0]:
        return earlier
    opcodes = sorted({str(opcode) for opcode in rows["opcode"][own]})
    for version in ACCEL_SIM_MAPS:
        try:
            for opcode in opcodes:
                sass_classes.operation_class(opcode, version)
        except FormatError as error:
            unknown = error
        else:
            return version
    raise FormatError(f"{trace.path}: launch {kernel}: {unknown}, so Accel-Sim cannot read it")
