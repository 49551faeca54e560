"""Resident memory of launches with local memory: ``python -m bench.speed.local [--launches 100] [--threads 65536]``.

``recursion``: each thread calls itself eight times, each call with 64 bytes of its own. ``array``: each thread fills
1 KB of local memory, 64 MB a launch. One device has all launches one after another; what a launch took is given back
after it, so that the second hundred takes no more than the first ten. Process CPU time of one core.
"""

import argparse
import resource
import sys
from pathlib import Path

import numpy as np

from bench.speed.clock import seconds
from rayplay.tracer.api import Device

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"
RECURSION = (
    HEAD
    + """
.func (.param .b32 sum) f(.param .b32 depth);
.func (.param .b32 sum) f(.param .b32 depth)
{
    .local .align 4 .b8 own[64];
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.b32 %r1, [depth];
    mov.u64 %rd1, own;
    st.local.b32 [%rd1], %r1;
    st.local.b32 [%rd1+60], %r1;
    mov.b32 %r2, 0;
    setp.eq.s32 %p, %r1, 0;
    @%p bra done;
    sub.s32 %r3, %r1, 1;
    {
        .param .b32 argument;
        .param .b32 result;
        st.param.b32 [argument], %r3;
        call (result), f, (argument);
        ld.param.b32 %r2, [result];
    }
    ld.local.b32 %r4, [%rd1+60];
    add.s32 %r2, %r2, %r4;
done:
    st.param.b32 [sum], %r2;
    ret;
}
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mov.b32 %r5, 8;
    {
        .param .b32 argument;
        .param .b32 result;
        st.param.b32 [argument], %r5;
        call (result), f, (argument);
        ld.param.b32 %r5, [result];
    }
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.b32 [%rd3], %r5;
    ret;
}
"""
)
ARRAY = (
    HEAD
    + """
.visible .entry k(.param .u64 out)
{
    .local .align 8 .b8 own[1024];
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mov.u64 %rd4, own;
    mov.b32 %r5, 0;
fill:
    mul.wide.u32 %rd5, %r5, 8;
    add.s64 %rd6, %rd4, %rd5;
    st.local.u64 [%rd6], %rd5;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p, %r5, 128;
    @%p bra fill;
    ld.local.b32 %r5, [%rd4+288];
    shr.u32 %r5, %r5, 3;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.b32 [%rd3], %r5;
    ret;
}
"""
)
SUM = 36  # of both: 8 + 7 + ... + 1, and the 36th number
CTA = 128


def resident() -> float:
    """MB that this process has resident now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def measure(name: str, text: str, launches: int, threads: int) -> None:
    """Run the launches and print the resident memory after some of them, and its peak."""
    device, marks = Device(text), []
    out = device.buffer(np.zeros(threads, np.uint32))

    def run() -> None:
        for number in range(1, launches + 1):
            (found,) = device.launch("k", [out], threads // CTA, CTA)
            assert (found == SUM).all()
            if number in (1, 10, launches):
                marks.append(f"{resident():,.0f} MB after {number}")

    spent = seconds(run, runs=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"{name}: {launches} launches of {threads:,} threads: {', '.join(marks)}; most {peak:,.0f} MB; {spent:.1f} s")


def main() -> int:
    """Measure both."""
    parser = argparse.ArgumentParser(prog="python -m bench.speed.local", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--launches", type=int, default=100, metavar="N", help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=65536, metavar="N", help="default: %(default)s")
    options = parser.parse_args()
    for name, text in (("recursion", RECURSION), ("array", ARRAY)):
        measure(name, text, options.launches, options.threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
