"""Effects of DRAM refresh, translation, a far half of the L2 and instruction caches on a described card, each alone.

Command: ``python -m bench.accuracy.switches [--card card-rtx2070] [--fetch]``. A line per switch: micro-benchmarks of
the suite (cycles a step; B/clk of the whole GPU) and times of two textbook kernels in us, each beside the card without
a switch. Values: refresh of GDDR6 and HBM2 (``docs/sources/choices.md#refresh``), of all banks at once and of one bank
in turn; translation as published for a V100 (``#translation``); a far half 110 cycles away (``#near-and-far-l2``).

``--fetch``: instruction caches instead, in the model ``pipeline``, which alone fetches: one of 128 KiB an SM, as
Accel-Sim's (``docs/sources/accel-sim.md#instruction-cache``), and smaller ones. Kernels, and frames of rays. Of a size
that holds a program (the line ``code, bytes``: rows of PTX, 16 B each) the first fetch alone shows; 8 KiB hold the
kernels, and no path tracer.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.run.driver import simulate
from rayplay.silicon.simulate import TracedSuite, simulate_launches
from rayplay.silicon.study.collect import traced_kernel
from rayplay.silicon.study.rays import traced

QUANTITIES = ("l2_hit", "dram", "dram_read")
KERNELS = (("add_row", 1024), ("matvec", 512))
REFRESH_NS = {2: (1900, 120, 60), 8: (3900, 260, 160)}  # by bytes of the bus: GDDR6, HBM2; tREFI, tRFC, tRFCpb
TRANSLATED = ("translation.page_bytes=2097152", "translation.walk_cycles=654")
FAR = ("interconnect.far_cycles=110",)
SCENES, FRAME = ("wknd", "cornell"), (512, 288)
FETCH_KIB = (128, 32, 16, 8)
INSTRUCTION_BYTES = 16


def switches(gpu: Gpu) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names of the switches, and the values that turn them on."""
    interval, whole, one = (ns * gpu.dram.clock_khz // 10**6 for ns in REFRESH_NS[gpu.dram.bus_bytes])
    banks = gpu.dram.banks
    yield "none", ()
    yield "refresh, all banks", (f"dram.refi={interval}", f"dram.rfc={whole}", f"dram.refresh_banks={banks}")
    yield "refresh, bank by bank", (f"dram.refi={interval // banks}", f"dram.rfc={one}", "dram.refresh_banks=1")
    yield "translation", TRANSLATED
    yield "far half", FAR


def caches() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names of instruction caches, and their values."""
    yield "perfect", ()
    for kib in FETCH_KIB:
        yield f"{kib} KiB", ("instruction_cache.perfect=false", f"instruction_cache.bytes={kib << 10}")


def print_fetch(base: Gpu) -> None:
    """Print a line per instruction cache: microseconds of each trace in the model ``pipeline``."""
    with tempfile.TemporaryDirectory() as folder:
        traces = {f"{kernel} {n}": traced_kernel(kernel, n, Path(folder)) for kernel, n in KERNELS}
        traces |= {scene: traced(scene, FRAME, Path(folder)) for scene in SCENES}
        print(f"{base.name:<24}" + "".join(f"{name:>20}" for name in traces))
        sizes = [INSTRUCTION_BYTES * open_trace(path).rows("instructions") for path in traces.values()]
        print(f"{'code, bytes':<24}" + "".join(f"{size:>20,}" for size in sizes), flush=True)
        plain: list[float] = []
        for name, values in caches():
            gpu = base.with_values(values)
            found = [microseconds(trace, gpu) for trace in traces.values()]
            plain = plain or found
            print(line(name, found, plain), flush=True)


def microseconds(trace: Path, gpu: Gpu) -> float:
    """Time of a trace's launches in the model ``pipeline``, without the latency of the launch."""
    kernels = simulate(trace, gpu, model="pipeline").kernels
    cycles = int(kernels["end_cycle"].max() - kernels["start_cycle"].min()) - gpu.sm.kernel_launch_cycles
    return 1e3 * cycles / gpu.sm.clock_khz


def line(name: str, found: list[float], plain: list[float]) -> str:
    """Values, and what each is beside the card without a switch."""
    shown = (f"{value:.1f} ({value / before - 1:+.1%})" for value, before in zip(found, plain, strict=True))
    return f"{name:<24}" + "".join(f"{text:>20}" for text in shown)


def main() -> int:
    """Print a line per switch."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--card", default="card-rtx2070", metavar="NAME", help="GPU description (default: %(default)s)")
    parser.add_argument("--fetch", action="store_true", help="instruction caches instead of the other switches")
    options = parser.parse_args()
    base = load(options.card)
    if options.fetch:
        print_fetch(base)
        return 0
    names = [*QUANTITIES, *(f"{kernel} {n}" for kernel, n in KERNELS)]
    print(f"{base.name:<24}" + "".join(f"{name:>20}" for name in names))
    plain: list[float] = []
    with TracedSuite(QUANTITIES) as suite, tempfile.TemporaryDirectory() as folder:
        traces = [traced_kernel(kernel, n, Path(folder)) for kernel, n in KERNELS]
        for name, values in switches(base):
            gpu = base.with_values(values)
            found = [each.value for each in suite.replay(gpu)]
            found += [simulate_launches(trace, gpu)[0][1] for trace in traces]
            plain = plain or found
            print(line(name, found, plain), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
