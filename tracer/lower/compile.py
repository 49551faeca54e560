"""Machine code of a launch: LLVM IR to native code, kept on disk by the content it was made from."""

import hashlib
import struct
from dataclasses import dataclass
from functools import cache, lru_cache

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from rayplay.formats.guard import sealed
from rayplay.formats.guard.digest import source_digest
from rayplay.tracer import TRANSLATION
from rayplay.tracer.abi.words import RECORD_ALL
from rayplay.tracer.link.functions import KEPT, LinkedFunction
from rayplay.tracer.lower.program import lower_pieces, lower_program
from rayplay.tracer.native.cpu import Cpu, chosen
from rayplay.tracer.native.ternary_logic import fenced, is_suspect_object

OPTIMISED = 2
MOST_OPTIMISED = 1 << 15
"""Instructions of the largest program whose code is optimised."""
PASSES = ("sroa", "instruction_combine", "simplify_cfg")  # LLVM's level 1 takes ten times as long and gains nothing


@dataclass(frozen=True)
class MachineCode:
    """``addresses``: int64[functions], entry points in the order of the launch; ``engine`` keeps the code alive."""

    addresses: np.ndarray
    engine: llvm.ExecutionEngine


@cache
def _toolchain() -> bytes:
    """Digest of everything that decides compiled code besides the program and the processor: the lowering and LLVM."""
    digest = hashlib.sha256(source_digest(TRANSLATION).encode())
    digest.update(repr((llvmlite.__version__, llvm.llvm_version_info, PASSES)).encode())
    return digest.digest()


def content_key(
    functions: tuple[LinkedFunction, ...], symbols: dict[tuple[str, str], int], records: int, cpu: Cpu
) -> str:
    """Name of the cached code of these functions for a processor, linked with these numbers."""
    digest = hashlib.sha256(_toolchain() + repr(cpu).encode())
    for module in {id(f.module): f.module for f in functions}.values():
        digest.update("\n".join(module.source_lines).encode())
    for f in functions:
        texts = [(i.text, i.guard, i.operands) for i in f.function.body if i.position.line == 0]
        order = [(i.position.line, i.position.column) for i in f.function.body]
        head = (f.function.name, f.number, f.block_base, f.instruction_base, f.layout.shared)
        digest.update(repr((head, order, texts)).encode())
    digest.update(repr((sorted(symbols.items()), records)).encode())
    return digest.hexdigest()[:32]


def compile_program(
    functions: tuple[LinkedFunction, ...], symbols: dict[tuple[str, str], int], records: int = RECORD_ALL
) -> MachineCode:
    """Machine code of the functions for the chosen processor, from the cache where it has been made before.

    Raises ``UserError`` naming the first opcode the executor lacks, and for a processor that is not known.
    """
    return _compiled(functions, tuple(sorted(symbols.items())), records, chosen())


@lru_cache(maxsize=KEPT)
def _compiled(
    functions: tuple[LinkedFunction, ...], symbols: tuple[tuple[tuple[str, str], int], ...], records: int, cpu: Cpu
) -> MachineCode:
    numbers = dict(symbols)
    name = f"machine-code/{content_key(functions, numbers, records, cpu)}.o"
    kept = sealed.load(name)
    data = translate_program(functions, numbers, records, cpu) if kept is None else _split(kept)
    if kept is None:
        sealed.keep(name, b"".join(part for each in data for part in (struct.pack("<Q", len(each)), each)))
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), cpu.machine())
    for each in data:
        engine.add_object_file(llvm.ObjectFileRef.from_data(each))
    engine.finalize_object()
    addresses = [engine.get_function_address(f"f{f.number}") for f in functions]
    return MachineCode(np.array(addresses, np.int64), engine)


def _split(kept: bytes) -> list[bytes]:
    """The object files, each behind its length."""
    found, at = [], 0
    while at < len(kept):
        (length,) = struct.unpack_from("<Q", kept, at)
        found.append(kept[at + 8 : at + 8 + length])
        at += 8 + length
    return found


def translate_program(
    functions: tuple[LinkedFunction, ...], symbols: dict[tuple[str, str], int], records: int, cpu: Cpu
) -> list[bytes]:
    """Object files of the functions: one, or of a program beyond ``MOST_OPTIMISED`` several, not optimised, which takes
    a third of the time. Raises what ``lower_program`` does."""
    if sum(len(f.function.body) for f in functions) <= MOST_OPTIMISED:
        return [translate(lower_program(functions, symbols, records), cpu)]
    return [translate(piece, cpu, level=0) for piece in lower_pieces(functions, symbols, records)]


def translate(text: str, cpu: Cpu, level: int = OPTIMISED) -> bytes:
    """An object file from LLVM IR text, without the instructions that LLVM may have got wrong (``ternary_logic``)."""
    module = _optimised(text, cpu, level)
    data = cpu.machine(level).emit_object(module)
    if "x86_64" in module.triple and is_suspect_object(data):
        safe = fenced(str(_optimised(text, cpu, level)))
        data = cpu.machine(level).emit_object(llvm.parse_assembly(safe))
        if is_suspect_object(data):
            data = cpu.without("avx512f").machine(level).emit_object(llvm.parse_assembly(safe))
    return data


def _optimised(text: str, cpu: Cpu, level: int) -> llvm.ModuleRef:
    target = cpu.machine(level)
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    if level == 0:
        return module
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)
    return module
