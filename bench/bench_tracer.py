"""Speed of execution: ``python bench/bench_tracer.py``. Process CPU time, the least of a few runs.

One line per figure, ``name: value unit (target X)``. The kernel has a loop that threads leave after 16 to 31 rounds, a
divergent if/else (30 % to 70 %), predicated multiplication, selection, xorshift and one gather per round.
"""

import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import ptx
from formats.writer import TraceWriter
from ptx.ir import Module
from tracer import jit
from tracer.driver import ComputeLaunch
from tracer.driver_link import link_launch
from tracer.lower import lower_program
from tracer.memory import DeviceMemory
from tracer.record import MemorySink
from tracer.run import run_compute_launch

THREADS, CTA = 1 << 20, 128
TABLE_WORDS = 1 << 16
PROGRAMS = Path(__file__).resolve().parent.parent / "tracer" / "programs"

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


def seconds(action: Callable[[], object], runs: int = 3) -> float:
    """The least process CPU time of a few runs."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


def alu_launch() -> ComputeLaunch:
    memory = DeviceMemory()
    table = np.random.default_rng(1).random(TABLE_WORDS, np.float32)
    addresses = memory.allocate(table), memory.allocate(4 * THREADS)
    memory.view(addresses[1], np.uint8, 4 * THREADS)[:] = 0  # pages are there before the clock starts
    params = tuple(struct.pack("<Q", address) for address in addresses)
    return ComputeLaunch(ptx.parse(ALU, "alu.ptx"), "alu", (THREADS // CTA, 1, 1), (CTA, 1, 1), params, memory)


def bench_alu() -> None:
    launch = alu_launch()
    sink = MemorySink(keep=False)
    work = run_compute_launch(launch, sink, progress=False).thread_instructions / 1e9
    taken = seconds(lambda: run_compute_launch(launch, sink, progress=False), 5)
    print(f"ALU kernel, trace in memory: {work / taken:.2f} G thread-instructions/s (target 5)")
    with tempfile.TemporaryDirectory() as folder:

        def write() -> None:
            with TraceWriter(Path(folder) / "alu.trace") as writer:
                run_compute_launch(launch, writer, progress=False)

        taken = seconds(write)
    print(f"ALU kernel, trace to Parquet with addresses: {work / taken:.2f} G thread-instructions/s (target 0.5)")


def bench_compile(name: str) -> None:
    module: Module = ptx.parse_file(PROGRAMS / f"{name}.ptx")
    programs = tuple((module, f) for f in module.functions.values() if f.is_entry)
    linked = link_launch(programs, DeviceMemory(), {})
    thousands = sum(len(f.body) for _, f in programs) / 1000
    taken = seconds(lambda: jit.translate(lower_program(linked.functions, linked.symbols)), 2)
    print(f"machine code of {name}: {taken / thousands:.2f} s per 1000 instructions (target 1)")
    jit.compile_program(linked.functions, linked.symbols)
    taken = seconds(lambda: jit.compile_program(linked.functions, linked.symbols), 5)
    print(f"machine code of {name}, cached: {1000 * taken:.1f} ms (target 20)")


if __name__ == "__main__":
    bench_alu()
    for each in ("path-tracing", "ambient-occlusion"):
        bench_compile(each)
