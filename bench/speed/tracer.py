"""Speed of execution: ``python -m bench.speed.tracer``. Process CPU time, the least of a few runs.

One line per figure, ``name: value unit (target X)``. The ALU kernel has a loop that threads leave after 16 to 31
rounds, a divergent if/else (30 % to 70 %), predicated multiplication, selection, xorshift and one gather per round; the
larger kernels have the body of its loop many times.
"""

import re
import struct
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.speed.clock import seconds
from rayplay import ptx
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.ptx.ir import Function, Module
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.link.link import link_launch
from rayplay.tracer.lower import compile as jit
from rayplay.tracer.lower.program import lower_program
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.native.cpu import host
from rayplay.tracer.native.ternary_logic import is_suspect_object
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_compute_launch

THREADS, CTA = 1 << 20, 128
TABLE_WORDS = 1 << 16
Programs = tuple[tuple[Module, Function], ...]
PROGRAMS = Path(__file__).resolve().parents[2] / "tracer" / "programs"

ALU = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry alu(.param .u64 table, .param .u64 out)
{
    .reg .pred %p<5>;
    .reg .b32 %r<40>;
    .reg .f32 %f<10>;
    .reg .b64 %rd<10>;
    ld.param.u64 %rd1, [table];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mad.lo.u32 %r5, %r4, 1664525, 1013904223;
    shr.u32 %r6, %r5, 20;
    and.b32 %r6, %r6, 15;
    add.u32 %r6, %r6, 16;
    mov.u32 %r7, 0;
    mov.f32 %f1, 0f3f800000;
    mov.f32 %f2, 0f3f000000;
loop:
    shl.b32 %r8, %r5, 13;
    xor.b32 %r5, %r5, %r8;
    shr.u32 %r8, %r5, 17;
    xor.b32 %r5, %r5, %r8;
    shl.b32 %r8, %r5, 5;
    xor.b32 %r5, %r5, %r8;
    and.b32 %r9, %r5, 65535;
    mul.wide.u32 %rd3, %r9, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.f32 %f3, [%rd4];
    and.b32 %r10, %r5, 1023;
    setp.lt.u32 %p1, %r10, 307;
    @%p1 bra low;
    fma.rn.f32 %f1, %f1, %f2, %f3;
    mul.f32 %f4, %f1, %f3;
    add.f32 %f2, %f2, %f4;
    bra join;
low:
    sub.f32 %f1, %f1, %f3;
    xor.b32 %r5, %r5, 2654435769;
    mul.f32 %f2, %f2, 0f3f7fff00;
join:
    setp.gt.f32 %p2, %f1, 0f42c80000;
    @%p2 mul.f32 %f1, %f1, 0f3c23d70a;
    selp.f32 %f2, %f3, %f2, %p2;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p3, %r7, %r6;
    @%p3 bra loop;
    add.f32 %f5, %f1, %f2;
    mul.wide.u32 %rd5, %r4, 4;
    add.s64 %rd6, %rd2, %rd5;
    st.global.f32 [%rd6], %f5;
    ret;
}
"""


def repeated(copies: int) -> str:
    """The ALU kernel with the body of its loop repeated, each copy with its own if/else."""
    head, rest = ALU.split("loop:\n")
    body, tail = rest.split("    add.u32 %r7, %r7, 1;\n")
    bodies = (re.sub(r"\b(low|join)\b", rf"\g<1>{copy}", body) for copy in range(copies))
    return f"{head}loop:\n{''.join(bodies)}    add.u32 %r7, %r7, 1;\n{tail}"


MEMORY = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry alu(.param .u64 table, .param .u64 out)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [table];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mov.u32 %r5, 0;
loop:
    {index}
    mul.wide.u32 %rd3, %r6, 4;
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r7, [%rd4];
    add.u32 %r8, %r8, %r7;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, 64;
    @%p1 bra loop;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r8;
    ret;
}}
"""
RANDOM = "mad.lo.u32 %r6, %r5, 1664525, %r4; mul.lo.u32 %r6, %r6, 1013904223; shr.u32 %r6, %r6, 16;"
NEIGHBOURS = "mad.lo.u32 %r6, %r5, 4096, %r4; and.b32 %r6, %r6, 65535;"


def launch(text: str, threads: int) -> ComputeLaunch:
    """A kernel that reads a table of random numbers and writes a word per thread."""
    memory = DeviceMemory()
    table = np.random.default_rng(1).random(TABLE_WORDS, np.float32)
    addresses = memory.allocate(table), memory.allocate(4 * threads)
    memory.view(addresses[1], np.uint8, 4 * threads)[:] = 0  # pages are there before the clock starts
    params = tuple(struct.pack("<Q", address) for address in addresses)
    return ComputeLaunch(ptx.parse(text, "alu.ptx"), "alu", (threads // CTA, 1, 1), (CTA, 1, 1), params, memory)


def bench_kernel(name: str, text: str, threads: int, targets: tuple[str, str]) -> None:
    """Speed with nothing recorded, and with the trace in memory."""
    chosen = launch(text, threads)
    sink = MemorySink(keep=False)
    work = run_compute_launch(chosen, sink, progress=False).thread_instructions / 1e9
    for what, into, target in (("no trace", None, targets[0]), ("trace in memory", sink, targets[1])):
        run_compute_launch(chosen, into, progress=False)
        taken = seconds(lambda into=into: run_compute_launch(chosen, into, progress=False))
        print(f"{name}, {what}: {work / taken:.2f} G thread-instructions/s{target}")


def bench_parquet() -> None:
    chosen = launch(ALU, THREADS)
    work = run_compute_launch(chosen, MemorySink(keep=False), progress=False).thread_instructions / 1e9
    with tempfile.TemporaryDirectory() as folder:

        def write() -> None:
            with TraceWriter(Path(folder) / "alu.trace") as writer:
                run_compute_launch(chosen, writer, progress=False)

        taken, waited = seconds(write), seconds(write, clock=time.perf_counter)
    print(f"ALU kernel, trace to Parquet with addresses: {work / taken:.2f} G thread-instructions/s (target 1)")
    print(f"  by the wall clock, two threads: {work / waited:.2f} G thread-instructions/s")


def bench_compile(name: str, module: Module, programs: Programs) -> None:
    """Time to compile, and to come from a parsed module to callable code that is in the cache."""

    def load() -> None:
        linked = link_launch(programs, DeviceMemory(), {})
        jit.compile_program(linked.functions, linked.symbols)

    linked = link_launch(programs, DeviceMemory(), {})
    thousands = sum(len(f.body) for _, f in programs) / 1000
    taken = seconds(lambda: jit.translate(lower_program(linked.functions, linked.symbols), host()), 2)
    print(f"machine code of {name}: {taken / thousands:.2f} s per 1000 instructions (target 1)")
    code = jit.translate(lower_program(linked.functions, linked.symbols), host())
    guard = seconds(lambda: is_suspect_object(code))
    share, found = 100 * guard / taken, "a" if is_suspect_object(code) else "no"
    print(f"machine code of {name}, search for wrong ternary logic: {share:.2f} % of compiling; {found} suspect")
    load()
    text = "\n".join(module.source_lines)
    parsing = seconds(lambda: ptx.parse(text, module.source_name), 3)
    print(f"machine code of {name}, cached: {1000 * seconds(load):.1f} ms after {1000 * parsing:.0f} ms of parsing")


def bench_compilation() -> None:
    for name in ("path-tracing", "ambient-occlusion"):
        module = ptx.parse_file(PROGRAMS / f"{name}.ptx")
        bench_compile(name, module, tuple((module, f) for f in module.functions.values() if f.is_entry))
    for copies in (45, 134, 260, 434):
        module = ptx.parse(repeated(copies), "alu.ptx")
        entry = module.functions["alu"]
        bench_compile(f"a kernel of {len(entry.body):,} instructions", module, ((module, entry),))


if __name__ == "__main__":
    bench_kernel("ALU kernel", ALU, THREADS, ("", " (target 10)"))
    for each in (45, 152):
        instructions = len(ptx.parse(repeated(each), "alu.ptx").functions["alu"].body)
        bench_kernel(f"kernel of {instructions:,} instructions", repeated(each), THREADS // 32, ("", " (target 3)"))
    bench_kernel("random gathers", MEMORY.format(index=RANDOM), THREADS // 16, ("", ""))
    bench_kernel("reads of neighbours", MEMORY.format(index=NEIGHBOURS), THREADS // 16, ("", ""))
    bench_parquet()
    bench_compilation()
