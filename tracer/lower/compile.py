"""Machine code of a launch: LLVM IR to native code, kept on disk by the content it was made from."""

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from rayplay.formats.guard.code_cache import cache_root, source_digest
from rayplay.tracer.abi.words import RECORD_ALL
from rayplay.tracer.link.functions import LinkedFunction
from rayplay.tracer.lower.program import lower_program

PASSES = ("sroa", "instruction_combine", "simplify_cfg")  # LLVM's level 1 takes ten times as long and gains nothing


@dataclass(frozen=True)
class MachineCode:
    """``addresses``: int64[functions], entry points in the order of the launch; ``engine`` keeps the code alive."""

    addresses: np.ndarray
    engine: llvm.ExecutionEngine


def _target() -> llvm.TargetMachine:
    """A new one each time: an execution engine takes its target machine with it when it goes."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)


@cache
def _toolchain() -> bytes:
    """Digest of everything that decides compiled code besides the program: the lowering, LLVM and the processor."""
    digest = hashlib.sha256()
    digest.update(source_digest(("tracer", "ptx")).encode())
    machine = (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    digest.update(repr((llvmlite.__version__, llvm.llvm_version_info, machine, PASSES)).encode())
    return digest.digest()


def content_key(functions: tuple[LinkedFunction, ...], symbols: dict[tuple[str, str], int], records: int) -> str:
    """Name of the cached code of these functions, linked with these numbers."""
    digest = hashlib.sha256(_toolchain())
    for module in {id(f.module): f.module for f in functions}.values():
        digest.update("\n".join(module.source_lines).encode())
    for f in functions:
        texts = [(i.text, i.guard, i.operands) for i in f.function.body if i.position.line == 0]
        head = (f.function.name, len(f.function.body), f.number, f.block_base, f.instruction_base, f.layout.shared)
        digest.update(repr((head, texts)).encode())
    digest.update(repr((sorted(symbols.items()), records)).encode())
    return digest.hexdigest()[:32]


def compile_program(
    functions: tuple[LinkedFunction, ...], symbols: dict[tuple[str, str], int], records: int = RECORD_ALL
) -> MachineCode:
    """Machine code of the functions, from the cache where it has been made before.

    Raises ``UserError`` naming the first opcode the executor lacks.
    """
    path = cache_root() / "machine-code" / f"{content_key(functions, symbols, records)}.o"
    try:
        data = path.read_bytes()
    except OSError:
        data = translate(lower_program(functions, symbols, records))
        _keep(path, data)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    addresses = [engine.get_function_address(f"f{f.number}") for f in functions]
    return MachineCode(np.array(addresses, np.int64), engine)


def translate(text: str) -> bytes:
    """An object file from LLVM IR text."""
    target = _target()
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)
    return target.emit_object(module)


def _keep(path: Path, data: bytes) -> None:
    """Write under a temporary name first, so that a reader never sees half a file; a full disk only costs the cache."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
