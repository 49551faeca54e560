"""The suite: pictures named as in CRISP's paper, partners, GPUs, and how much of them a study takes.

SPL and SPH are the same Sponza with one map and with all, PT is an object with physically based shading, IT many
instances of a few meshes. Without the data folder's scenes procedural ones stand for them, under names of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rayplay.formats.guard.strict import check_choice
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.tracer.draw import textured_file

PARTNERS = {"HOLO": "hologram", "VIO": "odometry", "NN": "segmentation"}
FEW_LAUNCHES = {"HOLO": "0-4", "VIO": "0-6", "NN": "2-10"}  # one round, corners of the first frame, deeper layers
PARTNER_FOLDER = Path(__file__).resolve().parents[1] / "examples" / "partners"  # of a checkout
RTX, ORIN = "RTX 3070", "Orin"
GPUS = {RTX: "rtx3070-released", ORIN: "orin-released"}
BATCHES = (24, 32, 48, 64, 96, 128)  # indices, docs/sources/crisp.md#vertex-batches


@dataclass(frozen=True)
class Workload:
    """A picture: scene as ``tracer draw`` takes it, shader and camera (``None``: the scene's)."""

    name: str
    scene: str
    shader: str
    camera: str | None = None


@dataclass(frozen=True)
class Suite:
    """Pictures and partners of a study.

    workloads  all pictures, by name.
    size       of a picture in pixels; ``larger``: of the same for Fig. 6.
    pairs      pictures and the partners beside them.
    partners   launches of each partner, as ``data select`` has them; ``None``: all.
    traced     picture that runs beside its own ray-traced shadows and the network.
    interval   cycles of a row of the series over time.
    """

    workloads: Mapping[str, Workload]
    size: tuple[int, int]
    larger: tuple[int, int]
    pairs: tuple[tuple[str, str], ...]
    partners: Mapping[str, str | None]
    traced: str
    interval: int
    is_procedural: bool = False


INSIDE = "eye=-1000,200,0,at=1000,400,0,vfov=65"
TEXTURED = (
    Workload("SPL", "sponza_tex", "lit", INSIDE),
    Workload("SPH", "sponza_tex", "pbr", INSIDE),
    Workload("PT", "flight_helmet", "pbr", "eye=0.3,0.15,0.75,at=0,0,0,vfov=45"),
    Workload("IT", "planets", "lit"),
    Workload("MT", "bricks", "ball"),
)
WHOLE_ALONE = ("IT",)  # its 8,192 instances cost the same at any size of the picture
PROCEDURAL = (
    Workload("forest", "forest", "pbr"),
    Workload("terrain", "terrain:20000", "lit"),
    Workload("cornell", "cornell", "pbr"),
)


def suite(
    quick: bool, size: tuple[int, int] | None = None, procedural: bool = False, pairs: Sequence[str] = ()
) -> Suite:
    """The suite of a study; procedural where the data folder has not every scene, or where asked for.

    pairs   PICTURE+PARTNER, with a part of the partner's launches; none: all, in a quick study one picture's.

    Raises ``UserError`` for a pair that the suite has not.
    """
    is_procedural = procedural or not all(textured_file(one.scene) for one in TEXTURED)
    chosen = PROCEDURAL if is_procedural else TEXTURED
    workloads = {one.name: one for one in chosen if not (quick and one.name in WHOLE_ALONE)}
    for pair in pairs:
        check_choice(pair, [f"{name}+{partner}" for name in workloads for partner in PARTNERS], "--pairs")
    first = pairs[0].partition("+")[0] if pairs else "forest" if is_procedural else "SPH"
    beside = [(name, partner) for name in ([first] if quick else workloads) for partner in PARTNERS]
    width, height = size or ((128, 72) if quick else (2560, 1440))
    return Suite(
        workloads=workloads,
        size=(width, height),
        larger=(width * 3 // 2, height * 3 // 2),
        pairs=tuple((pair.partition("+")[0], pair.partition("+")[2]) for pair in pairs) or tuple(beside),
        partners=FEW_LAUNCHES if quick or pairs else dict.fromkeys(PARTNERS),
        traced=first,
        interval=2_000 if quick else 10_000,
        is_procedural=is_procedural,
    )


def size_text(size: tuple[int, int]) -> str:
    """WxH."""
    return f"{size[0]}x{size[1]}"


def gpu_of(name: str) -> Gpu:
    """A GPU of the study."""
    return load_gpu(GPUS[name])
