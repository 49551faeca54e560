"""Speed of the analysis: ``python -m bench.speed.analysis``. Process CPU time, the least of a few runs.

Each kernel runs on a larger input than its launch file has, once in full without a trace and without counting anything,
once by its slice with all counts. One line per launch, ``name: value unit (target X)``; the target holds for slices of
less than 30 % of the executed instructions. Work done once per kernel (SSA form, dependences, slice) is listed apart.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.speed.clock import seconds
from rayplay import ptx
from rayplay.hypa.profile import count_launch, launch_program, make_profile
from rayplay.hypa.slices import SliceCache
from rayplay.tracer.launch import prepare
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.run import run_compute_launch

ROOT = Path(__file__).resolve().parents[2]
LARGEST_SLICE = 0.30
RAGGED_CTAS = 2000
RAGGED = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry ragged(.param .u64 out)
{
    .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %d<4>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [out];
    mov.u32 %r0, %tid.x;
    mov.u32 %r9, %ctaid.x;
    mad.lo.u32 %r0, %r9, 128, %r0;
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d1, %d1, %d0;
    mov.u32 %r1, 0;
OUTER:
    mad.lo.u32 %r2, %r0, 1664525, %r1;
    shr.u32 %r2, %r2, 9;
    and.b32 %r2, %r2, 15;
    mov.u32 %r3, 0;
INNER:
    WORK
    add.u32 %r3, %r3, 1;
    setp.le.u32 %p1, %r3, %r2;
    @%p1 bra INNER;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p2, %r1, 16;
    @%p2 bra OUTER;
    st.global.f32 [%d1], %f0;
    ret;
}
"""

# file, kernel (of its first launch), and replacements in the launch file
LARGER: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("examples/learning/backprop_layer", "adjust_weights", {
        "[1024, 256]": "[8192, 2048]", "[1024]": "[8192]", "[256]": "[2048]", "[64, 256]": "[512, 2048]",
        "[16, 64]": "[128, 512]", "value = 256": "value = 2048",
    }),
    ("examples/grids/hotspot_3d", "hotspot_3d", {
        "[8, 90, 120]": "[8, 1000, 1000]", "[2, 23]": "[16, 250]", "value = 120": "value = 1000",
        "value = 90": "value = 1000",
    }),
    ("examples/arrays/spmv", "spmv_thread", {
        "4097": "131073", "4096": "131072", "200000": "4000000", "grid = [32]": "grid = [1024]",
        "grid = [1024]": "grid = [32768]",
    }),
    ("examples/arrays/prefix_scan", "scan_tiles", {"30000": "262144", "118": "1024", "[128]": "[1024]"}),
    ("tracer/kernels/matrix_multiply", "matrix_multiply", {
        "[60, 40]": "[600, 400]", "[40, 50]": "[400, 500]", "[60, 50]": "[600, 500]", "[4, 4]": "[32, 38]",
        "value = 60": "value = 600", "value = 40": "value = 400", "value = 50": "value = 500",
    }),
    ("examples/grids/particle_forces", "particle_forces", {}),
    ("examples/grids/mandelbrot", "mandelbrot", {"[250, 250]": "[1000, 1000]", "value = 250": "value = 1000",
                                           "grid = [16, 16]": "grid = [63, 63]", "0.01 }": "0.0025 }"}),
    ("examples/learning/kmeans_assign", "kmeans_assign", {"10000": "100000", "[40]": "[391]"}),
)  # fmt: skip


def larger_launch(file: str, kernel: str, changes: dict[str, str]) -> ComputeLaunch:
    """The first launch of a kernel, in its launch file with the changes made (each place once)."""
    text = (ROOT / f"{file}.toml").read_text()
    for number, old in enumerate(changes):
        text = text.replace(old, f"@{number}@")
    for number, new in enumerate(changes.values()):
        text = text.replace(f"@{number}@", new)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "larger.toml"
        path.write_text(text)
        prepared = prepare(path, ROOT / f"{file}.ptx")
    return next(prepared.bind(launch) for launch in prepared.plan.launch if launch.entry == kernel)


def ragged_launch() -> ComputeLaunch:
    """The hardest case for counting: small blocks, and lanes that leave an inner loop after different rounds."""
    work = "\n".join(f"fma.rn.f32 %f{k % 4}, %f{k % 4}, %f{(k + 1) % 4}, %f{(k + 2) % 4};" for k in range(12))
    memory = DeviceMemory()
    params = (memory.allocate(4 * RAGGED_CTAS * 128).to_bytes(8, "little"),)
    module = ptx.parse(RAGGED.replace("WORK", work), "ragged.ptx")
    return ComputeLaunch(module, "ragged", (RAGGED_CTAS, 1, 1), (128, 1, 1), params, memory)


def bench(kernel: str, make: Callable[[], ComputeLaunch]) -> None:
    launch = make()
    program = launch_program(launch)
    start = time.process_time()
    cut, reduced = SliceCache().find(launch, program, frozenset())
    once = time.process_time() - start
    counts = count_launch(reduced, program, progress=False)
    if counts != count_launch(make(), program, progress=False):
        raise SystemExit(f"{kernel}: the slice does not count what full execution counts")
    run_compute_launch(launch, None, progress=False)
    full = seconds(lambda: run_compute_launch(launch, None, progress=False))
    sliced = seconds(lambda: count_launch(reduced, program, progress=False))
    profile = make_profile(launch, program, counts, cut.kept, sliced)
    share = profile.executed_instructions / profile.dynamic_instructions
    target = "target above 1" if share < LARGEST_SLICE else "no target, the slice is large"
    print(
        f"analysis of {kernel}, slice {100 * share:.1f} %, {profile.dynamic_instructions / 1e6:.0f} M thread "
        f"instructions in {1e3 * full:.1f} ms: {full / sliced:.2f} times as fast as full execution ({target}); "
        f"slicing {1e3 * once:.1f} ms once"
    )


if __name__ == "__main__":
    for each in LARGER:
        bench(each[1], partial(larger_launch, *each))
    bench("ragged", ragged_launch)
