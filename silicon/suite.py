"""Micro-benchmarks as PTX of our own: dependent chains, pointer chases, bandwidths, bank conflicts.

Each is one kernel that does something ``steps`` times, launched with a few and with many steps: what a step takes is
the difference of the two times, so that launch, prologue and what surrounds the steps cancel out. The kernel times
itself with ``%clock64``, in its last pass, for a GPU; a replay has the cycles of the launch.

Straight chains are two kernels of 64 and 192 operations, in two passes, the second of which finds its code in the
instruction cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

HEAD = ".version 7.8\n.target sm_70\n.address_size 64\n"
SHORT, LONG = 64, 192
PASSES = 2
UNROLLED = 8
STREAM_WORDS = 4096  # 32 KiB
SWEEP_THREADS, SWEEP_BYTES, SWEPT = 1024, 16384, 4  # a CTA's threads, its bytes a step, steps that an iteration has
DEVICE_STEPS = 32  # times as many steps on a device
SHARED_BLOCKS = 32  # 512 KiB, which all SMs read from the L2


@dataclass(frozen=True)
class Micro:
    """A micro-benchmark.

    quantity  as the tables of measurements call it; ``unit``: cycles a step, or bytes a cycle of an SM.
    few, many kernels, or the parameter ``steps`` of the same one; ``bytes`` that the CTA moves a step (bandwidths).
    words     64-bit words of the buffer, a chase of ``stride_bytes`` written by the kernel ``link``; 0 for none.
    passes    times that a launch does its steps, of which the clock sees the last alone.
    cold      whether caches must be empty.
    ctas      CTAs for each SM, of which each reads its own bytes a step; 0: one CTA in all. ``unit`` is then B/clk.
    seed      the parameter ``seed``.
    """

    quantity: str
    unit: str
    text: str
    kernels: tuple[str, str]
    steps: tuple[int, int]
    threads: int = 32
    bytes: int = 0
    words: int = 0
    stride_bytes: int = 0
    passes: int = 1
    cold: bool = False
    ctas: int = 0
    seed: int = 1

    def grid(self, sms: int) -> int:
        """CTAs of a launch on a GPU of ``sms`` SMs."""
        return self.ctas * sms or 1

    def buffer_words(self, sms: int) -> int:
        """64-bit words of the buffer on a GPU of ``sms`` SMs."""
        return self.words * (sms if self.ctas and self.cold else 1)

    def on_a_device(self, l2_bytes: int) -> "Micro":
        """The same, long enough for events around a launch where all SMs are at work.

        What all SMs read fills up to half of the L2: requests of several SMs for the same sector would be one to it.
        """
        if not self.ctas:
            return self
        few, many = (DEVICE_STEPS * steps for steps in self.steps)
        if self.cold:
            return replace(self, steps=(few, many), words=self.words * DEVICE_STEPS)
        blocks = 1 << (l2_bytes // 2 // SWEEP_BYTES).bit_length() - 1
        return replace(self, steps=(few, many), words=blocks * SWEEP_BYTES // 8, seed=blocks - 1)

    def value(self, few_cycles: float, many_cycles: float, passes: int, sms: int) -> float:
        """The measured quantity from the cycles of the two launches, of ``passes`` passes each."""
        step = (many_cycles - few_cycles) / passes / (self.steps[1] - self.steps[0])
        return self.bytes * self.grid(sms) / step if self.bytes else step


INTEGER = {
    "ptx:add.u32": ("add.u32 %r1, %r1, %r2;", "add.u32 %r2, %r2, %r1;"),
    "ptx:mul.lo": ("mul.lo.u32 %r1, %r1, %r2;",),
    "int32_mad": ("mad.lo.u32 %r1, %r1, %r2, %r3;",),
    "ptx:popc": ("popc.b32 %r1, %r1;",),
    "ptx:clz": ("clz.b32 %r1, %r1;",),
    "ptx:bfind": ("bfind.u32 %r1, %r1;",),
    "ptx:div.u32": ("div.u32 %r1, %r1, %r2;",),
    "ptx:div.s32": ("div.s32 %r1, %r1, %r2;",),
    "ptx:rem": ("rem.u32 %r1, %r1, %r2;",),
    "ptx:sad": ("sad.u32 %r1, %r1, %r2, %r3;",),
    "int32_min": ("min.s32 %r1, %r1, %r2;", "max.s32 %r2, %r1, %r3;"),
}
FLOAT = {
    "ptx:fadd": ("add.rn.f32 %f1, %f1, %f2;",),
    "ptx:fmul": ("mul.rn.f32 %f1, %f1, %f2;",),
    "ptx:ffma": ("fma.rn.f32 %f1, %f1, %f2, %f3;",),
    "ptx:ex2.approx": ("ex2.approx.ftz.f32 %f1, %f1;",),
    "ptx:rcp.approx": ("rcp.approx.f32 %f1, %f1;",),
    "ptx:sqrt.approx": ("sqrt.approx.f32 %f1, %f1;",),
    "ptx:rsqrt.approx": ("rsqrt.approx.f32 %f1, %f1;",),
    "ptx:sin.approx": ("sin.approx.f32 %f1, %f1;",),
    "ptx:div.rn.f32": ("div.rn.f32 %f1, %f1, %f2;",),
    "ptx:rcp.rn": ("rcp.rn.f32 %f1, %f1;",),
    "ptx:sqrt.rn": ("sqrt.rn.f32 %f1, %f1;",),
}
DOUBLE = {
    "ptx:dadd": ("add.rn.f64 %d1, %d1, %d2;",),
    "ptx:dmul": ("mul.rn.f64 %d1, %d1, %d2;",),
    "ptx:dfma": ("fma.rn.f64 %d1, %d1, %d2, %d3;",),
    "ptx:sqrt.rn.f64": ("sqrt.rn.f64 %d1, %d1;",),
}
HALF = {
    "ptx:hadd": ("add.rn.f16x2 %h1, %h1, %h2;",),
    "ptx:hmul": ("mul.rn.f16x2 %h1, %h1, %h2;",),
    "ptx:hfma": ("fma.rn.f16x2 %h1, %h1, %h2, %h3;",),
}
REGISTERS = """    .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .b32 %h<4>; .reg .pred %p; .reg .b64 %t<6>;
    .reg .b64 %b<9>; .reg .b32 %n<9>; .reg .b32 %v<40>;
    ld.param.u64 %b1, [out];
    ld.param.u64 %b2, [data];
    ld.param.u32 %n1, [steps];
    ld.param.u32 %n2, [seed];
    cvta.to.global.u64 %b1, %b1;
    cvta.to.global.u64 %b2, %b2;
"""
SIGNATURE = "(.param .u64 out, .param .u64 data, .param .u32 steps, .param .u32 seed)"
SEEDS = """    add.u32 %r1, %n2, 7; add.u32 %r2, %n2, 3; add.u32 %r3, %n2, 5;
    cvt.rn.f32.u32 %f1, %r1; cvt.rn.f32.u32 %f2, %r2; cvt.rn.f32.u32 %f3, %r3;
    cvt.rn.f64.u32 %d1, %r1; cvt.rn.f64.u32 %d2, %r2; cvt.rn.f64.u32 %d3, %r3;
    mov.b32 %h1, %r1; mov.b32 %h2, %r2; mov.b32 %h3, %r3;
"""
RESULT = """    cvt.rzi.u32.f32 %n6, %f1; cvt.rzi.u32.f64 %n7, %d1;
    xor.b32 %r1, %r1, %r2; xor.b32 %r1, %r1, %n6; xor.b32 %r1, %r1, %n7; xor.b32 %r1, %r1, %h1;
"""
LAST = """    sub.u64 %t2, %t2, %t1;
    mov.u32 %n5, %tid.x;
    setp.ne.u32 %p, %n5, 0;
    @%p bra STORE;
    st.global.u64 [%b1], %t2;
STORE:
    mul.wide.u32 %b3, %n5, 4;
    add.u64 %b3, %b1, %b3;
    st.global.u32 [%b3+16], %r1;
    ret;
"""
"""The clock of thread 0, and what the steps made, so that they are not removed."""


def chain(name: str, operations: tuple[str, ...], length: int) -> str:
    """A kernel of ``length`` dependent operations, in two passes."""
    steps = "\n    ".join(operations[k % len(operations)] for k in range(length))
    return f""".visible .entry {name}{SIGNATURE}
{{
{REGISTERS}{SEEDS}    mov.u32 %n3, 0;
PASS:
    mov.u64 %t1, %clock64;
    {steps}
    mov.u64 %t2, %clock64;
    add.u32 %n3, %n3, 1;
    setp.lt.u32 %p, %n3, {PASSES};
    @%p bra PASS;
{RESULT}{LAST}}}
"""


def chase(name: str, load: str, passes: int = 1) -> str:
    """A kernel that follows ``steps`` pointers, ``passes`` times; the first ones fill the caches."""
    return f""".visible .entry {name}{SIGNATURE}
{{
{REGISTERS}    mov.u32 %n3, 0;
    mov.u64 %b4, %b2;
    sub.u32 %n6, %n2, 1;
    cvt.u64.u32 %b5, %n6;
PASS:
    mov.u32 %n4, 0;
    mov.u64 %t1, %clock64;
STEP:
    {(load + chr(10) + "    ") * 4}
    add.u32 %n4, %n4, 4;
    setp.lt.u32 %p, %n4, %n1;
    @%p bra STEP;
    cvt.u32.u64 %r1, %b4;
    mov.u64 %t2, %clock64;
    add.u32 %n3, %n3, 1;
    setp.lt.u32 %p, %n3, {passes};
    @%p bra PASS;
{LAST}}}
"""


LINK = f""".visible .entry link{SIGNATURE}
{{
{REGISTERS}    // one thread: data[i * stride] = address of data[(i + 1) % steps * stride]; seed: stride in bytes
    mov.u32 %n3, 0;
    cvt.u64.u32 %b5, %n2;
    mov.u64 %b4, %b2;
AGAIN:
    add.u64 %b6, %b4, %b5;
    add.u32 %n3, %n3, 1;
    setp.eq.u32 %p, %n3, %n1;
    selp.b64 %b6, %b2, %b6, %p;
    st.global.u64 [%b4], %b6;
    mov.u64 %b4, %b6;
    @!%p bra AGAIN;
    ret;
}}
"""


def shared_chase(name: str) -> str:
    """A kernel that follows pointers in shared memory."""
    return f""".visible .entry {name}{SIGNATURE}
{{
    .shared .align 8 .b32 cell[64];
{REGISTERS}    mov.u32 %r1, cell;
    mov.u32 %n5, %tid.x;
    shl.b32 %n5, %n5, 2;
    add.u32 %r1, %r1, %n5;
    st.shared.u32 [%r1], %r1;
    bar.sync 0;
    mov.u32 %n4, 0;
    mov.u64 %t1, %clock64;
STEP:
    {("ld.volatile.shared.u32 %r1, [%r1];" + chr(10) + "    ") * 4}
    add.u32 %n4, %n4, 4;
    setp.lt.u32 %p, %n4, %n1;
    @%p bra STEP;
    mov.u64 %t2, %clock64;
{LAST}}}
"""


def _registers(load: int, lanes: int) -> str:
    """Registers of one of the loads of a step, so that none waits for another one's."""
    names = ", ".join(f"%v{lanes * load + lane}" for lane in range(lanes))
    return f"{{{names}}}" if lanes > 1 else names


def _loads(shared: bool, lanes: int) -> str:
    """A step's loads, then the use of what they loaded: replays issue in order."""
    vector = {1: "u32", 2: "v2.u32", 4: "v4.u32"}[lanes]
    loads = [
        f"ld.{'volatile.shared' if shared else 'global.ca'}.{vector} {_registers(k, lanes)}, "
        f"[{'%r8' if shared else '%b4'}+{0 if shared else 2048 * k}];"
        for k in range(UNROLLED)
    ]
    return "\n    ".join([*loads, *(f"xor.b32 %r1, %r1, %v{lanes * k};" for k in range(UNROLLED))])


def stream(name: str, space: str, lanes: int, stride_words: int = 1) -> str:
    """A kernel whose threads each load ``lanes`` words a step, from shared memory or from 32 KiB that the L1 holds.

    stride_words  distance of neighbouring threads in shared memory, for bank conflicts.
    """
    shared = space == "shared"
    steps = _loads(shared, lanes)
    place = (
        f"mul.lo.u32 %n6, %n5, {4 * lanes * stride_words}; and.b32 %n6, %n6, 16383; mov.u32 %r8, tile; "
        "add.u32 %r8, %r8, %n6;"
        if shared else ""
    )  # fmt: skip
    move = (
        "" if shared else f"mul.lo.u32 %n6, %n5, {4 * lanes}; mad.lo.u32 %n6, %n4, 256, %n6; "
        "and.b32 %n6, %n6, 16368;\n    cvt.u64.u32 %b4, %n6; add.u64 %b4, %b2, %b4;"
    )  # fmt: skip
    return f""".visible .entry {name}{SIGNATURE}
.maxntid 1024, 1, 1
{{
    {".shared .align 16 .b8 tile[16384];" if shared else ""}
{REGISTERS}    mov.u32 %r1, 0;
    mov.u32 %n5, %tid.x;
    {place}
    mov.u32 %n3, 0;
PASS:
    bar.sync 0;
    mov.u32 %n4, 0;
    mov.u64 %t1, %clock64;
STEP:
    {move}
    {steps}
    add.u32 %n4, %n4, {UNROLLED};
    setp.lt.u32 %p, %n4, %n1;
    @%p bra STEP;
    bar.sync 0;
    mov.u64 %t2, %clock64;
    add.u32 %n3, %n3, 1;
    setp.lt.u32 %p, %n3, {PASSES};
    @%p bra PASS;
{LAST}}}
"""


def sweep(name: str, shared: bool, passes: int) -> str:
    """A kernel whose CTAs read ``steps`` blocks of 16 KiB each, past the L1: side by side from one end of the buffer to
    the other, or, ``shared``, all of them the same ones, as many as the parameter ``seed`` and one.
    """
    next_block = "add.u32 %r4, %r4, 1; and.b32 %r4, %r4, %n2;" if shared else "add.u32 %r4, %r4, %r5;"
    loads = [
        f"""mul.wide.u32 %b6, %r4, {SWEEP_BYTES}; add.u64 %b6, %b4, %b6; {next_block}
    ld.relaxed.gpu.global.v4.u32 {_registers(k, 4)}, [%b6];"""
        for k in range(SWEPT)
    ]
    steps = "\n    ".join([*loads, *(f"xor.b32 %r1, %r1, %v{4 * k};" for k in range(SWEPT))])
    return f""".visible .entry {name}{SIGNATURE}
.maxntid {SWEEP_THREADS}, 1, 1
{{
{REGISTERS}    mov.u32 %r1, 0;
    mov.u32 %n5, %tid.x;
    mul.wide.u32 %b4, %n5, 16;
    add.u64 %b4, %b4, %b2;
    mov.u32 %r5, %nctaid.x;
    mov.u32 %n3, 0;
PASS:
    bar.sync 0;
    mov.u32 %n4, 0;
    mov.u32 %r4, %ctaid.x;{" and.b32 %r4, %r4, %n2;" if shared else ""}
    mov.u64 %t1, %clock64;
STEP:
    {steps}
    add.u32 %n4, %n4, {SWEPT};
    setp.lt.u32 %p, %n4, %n1;
    @%p bra STEP;
    bar.sync 0;
    mov.u64 %t2, %clock64;
    add.u32 %n3, %n3, 1;
    setp.lt.u32 %p, %n3, {passes};
    @%p bra PASS;
{LAST}}}
"""


FOLLOW = {
    "l1_hit": ("ld.global.ca.u64 %b4, [%b4];", 64, 128, 256, 2, False),  # 8 KiB
    "l2_hit": ("ld.global.cg.u64 %b4, [%b4];", 1024, 256, 2048, 2, False),  # 256 KiB, not in the L1
    "dram": ("ld.global.cg.u64 %b4, [%b4];", 8192, 1024, 2048, 1, True),  # 8 MiB, caches empty
}
"""Load, pointers, bytes between two, most steps, passes, and whether caches must be empty."""


def suite() -> Iterator[Micro]:
    """All micro-benchmarks."""
    for table in (INTEGER, FLOAT, DOUBLE, HALF):
        for quantity, operations in table.items():
            name = "chain_" + "".join(c if c.isalnum() else "_" for c in quantity)
            names = (f"{name}_{SHORT}", f"{name}_{LONG}")
            text = "".join(chain(n, operations, k) for n, k in zip(names, (SHORT, LONG), strict=True))
            yield Micro(quantity, "cycles", text, names, (SHORT, LONG), passes=PASSES)
    for quantity, (load, pointers, stride, most, passes, cold) in FOLLOW.items():
        text = chase(f"chase_{quantity}", load, passes)
        yield Micro(
            quantity, "cycles", text, (f"chase_{quantity}",) * 2, (most // 2, most), threads=1,
            words=pointers * stride // 8, stride_bytes=stride, passes=passes, cold=cold,
        )  # fmt: skip
    atom = "atom.global.add.u64 %b6, [%b4], %b5; add.u64 %b4, %b4, %b6;"  # adds a zero that only the host knows
    yield Micro(
        "atomic_add_global", "cycles", chase("chase_atomic", atom, 2), ("chase_atomic",) * 2, (128, 512), threads=1,
        words=16, passes=2,
    )  # fmt: skip
    yield Micro("shared_load", "cycles", shared_chase("chase_shared"), ("chase_shared",) * 2, (128, 512))
    for lanes, width in ((1, "32bit"), (2, "64bit"), (4, "128bit")):
        for space in ("shared", "l1"):
            name = f"stream_{space}_{width}"
            yield Micro(
                f"{space}_{width}", "B/clk/SM", stream(name, space, lanes), (name,) * 2, (64, 256), threads=1024,
                bytes=1024 * 4 * lanes, words=STREAM_WORDS, passes=PASSES,
            )  # fmt: skip
    for stride in (2, 4, 8, 16, 32):
        name = f"stream_conflict_{stride}"
        yield Micro(
            f"bank_conflict_{stride}", "cycles", stream(name, "shared", 1, stride), (name,) * 2, (64, 256),
            passes=PASSES,
        )  # fmt: skip

    yield from bandwidths()


def bandwidths() -> Iterator[Micro]:
    """Bandwidths of the memory of a whole GPU, all of its SMs at work: bytes a cycle of the SMs' clock."""
    for quantity, passes in (("l2_read", PASSES), ("dram_read", 1)):
        cold, ctas, steps = quantity == "dram_read", 1, (8, 24)
        words = (steps[1] * ctas if cold else SHARED_BLOCKS) * SWEEP_BYTES // 8
        text = sweep(f"sweep_{quantity}", not cold, passes)
        yield Micro(
            quantity, "B/clk", text, (f"sweep_{quantity}",) * 2, steps, threads=SWEEP_THREADS, bytes=SWEEP_BYTES,
            words=words, passes=passes, cold=cold, ctas=ctas, seed=SHARED_BLOCKS - 1,
        )  # fmt: skip


def program() -> str:
    """The PTX of the whole suite."""
    return HEAD + LINK + "".join(micro.text for micro in suite())
