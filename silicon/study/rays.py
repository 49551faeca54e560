"""Throughput of ray tracing beside published frames a second: ratios between scenes, and between cards.

The published frames have 2560x1440 pixels, 8 samples and paths of up to 16 bounces; scenes 1 and 4 are spheres in a
program and a few triangles, which Rayplay has as ``wknd`` and ``cornell``. The same frame is traced with fewer pixels,
one sample each; every sphere has a bottom level and an instance of its own, as in the measured program. Frames hold
shading, accumulation and a driver, so that ratios alone are held to a bound.
Source: docs/sources/measurements.md#throughput-of-ray-tracing.
"""

import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from rayplay.replay.run.driver import simulate
from rayplay.silicon.study import tables
from rayplay.silicon.study.collect import NO_CARD, Study
from rayplay.silicon.study.results import THROUGHPUT, Compared
from rayplay.tracer.render import Request, render
from rayplay.tracer.shading.config import PROGRAM_FOLDER, VARIANTS

SCENES = {"1 WKND (Ray Tracing In One Weekend)": "wknd", "4 Cornell box": "cornell"}
WIDTH, HEIGHT = 2560, 1440
FRAME, QUICK_FRAME = (1024, 576), (160, 90)
"""Pixels of the traced frame: 18,432 warps are 17 for each that an RTX 2080 Ti holds."""
SPHERES = "apart"
UNIT, RATIO = "Mpaths/s", "ratio"


def throughputs(study: Study) -> list[Compared]:
    """Rows of the table: paths a second, then their ratios within a rig."""
    frame = QUICK_FRAME if study.quick else FRAME
    absolute: list[tuple[str, Compared]] = []
    with tempfile.TemporaryDirectory(prefix="rayplay-correlate-") as folder:
        traces: dict[str, Path] = {}
        for row in tables.rows_of(tables.RAYS):
            name, scene = study.of_card.get(row["gpu"], ""), SCENES.get(row["scene"], "")
            reason = left_out(study, row, name, scene)
            paths = None if reason else paths_per_second(study, name, scene, frame, Path(folder), traces) / 1e6
            source = ", ".join(filter(None, (row["source"], row["note"])))
            value = float(row["gigapaths_per_s"] or 0) * 1e3
            unit = UNIT if row["gigapaths_per_s"] else row["unit"]
            made = Compared(
                name, row["gpu"], THROUGHPUT, row["scene"], unit, value or float(row["value"]), paths, "check",
                reason or "a frame has shading, accumulation and a driver; ratios are held to a bound", source,
            )  # fmt: skip
            absolute.append((scene, made))
    known = [(scene, row) for scene, row in absolute if row.modelled is not None]
    return [*(row for _, row in absolute), *between_scenes(known), *between_cards(known)]


def left_out(study: Study, row: dict[str, str], name: str, scene: str) -> str:
    """Why a row is not compared, or nothing."""
    if not name:
        return NO_CARD
    if name not in study.names:
        return "not asked for"
    if not scene:
        return "a mesh that does not come with the package" if "Planets" not in row["scene"] else "no such scene here"
    return "" if int(row["width"] or 0) == WIDTH else f"not of {WIDTH}x{HEIGHT} pixels"


def paths_per_second(
    study: Study, name: str, scene: str, frame: tuple[int, int], folder: Path, traces: dict[str, Path]
) -> float:
    """Paths a second of a frame, width and height, on a description."""
    gpu = study.described(name)

    def compute() -> float:
        if scene not in traces:
            traces[scene] = traced(scene, frame, folder)
        kernels = simulate(traces[scene], gpu).kernels
        cycles = int(kernels["end_cycle"].max() - kernels["start_cycle"].min()) - gpu.sm.kernel_launch_cycles
        return 1e3 * gpu.sm.clock_khz * frame[0] * frame[1] / cycles

    return float(study.results.of(study.key("rays", gpu, scene=scene, frame=list(frame), spheres=SPHERES), compute))


def traced(scene: str, frame: tuple[int, int], folder: Path) -> Path:
    """A trace of the frame."""
    out = folder / f"{scene}.trace"
    program = PROGRAM_FOLDER / VARIANTS["optimised"] / "path-tracing.ptx"
    config = PROGRAM_FOLDER / "path-tracing.toml"
    render(Request(scene, program, config, out, *frame, samples=1, spheres=SPHERES))
    return out


def between_scenes(known: list[tuple[str, Compared]]) -> Iterator[Compared]:
    """Ratios of two scenes on one card and driver."""
    for (first, one), (second, other) in combinations(known, 2):
        if one.card == other.card and one.source == other.source and first != second:
            yield ratio(f"{second} / {first}", one.card, other, one)


def between_cards(known: list[tuple[str, Compared]]) -> Iterator[Compared]:
    """Ratios of two cards on one scene; of one driver where there are such rows."""
    for (first, one), (second, other) in combinations(known, 2):
        if first == second and one.card != other.card:
            made = ratio(first, f"{one.card} / {other.card}", one, other)
            if one.source == other.source:
                yield made


def ratio(what: str, card: str, one: Compared, other: Compared) -> Compared:
    """A row of two rows' ratio."""
    assert one.modelled is not None
    assert other.modelled is not None
    return Compared(
        one.description, card, THROUGHPUT, what, RATIO, one.measured / other.measured, one.modelled / other.modelled,
        "check", tables.reason_of(card, what, one.source), one.source,
    )  # fmt: skip
