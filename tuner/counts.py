"""Instructions of a ray-tracing kernel with given parameters (Ganestam and Doggett 4.3, Table 5).

Numbers may be arrays that broadcast: a sweep over rays of ambient occlusion is one call.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CACHE_STEPS = 23.0
"""Traversals per halving in the estimate of the cache (docs/sources/tuner.md#readings)."""
REGION = 8
"""Rays of a look, in x and in y, whose last leaves are compared."""

MOST = 1024
"""Accesses, rays of a region's side, and probes of a reading."""


@dataclass(frozen=True)
class KernelCounts:
    """Static instructions of a kernel: of its loops' bodies, each per iteration, and outside of them.

    compute_per_traversal, compute_per_intersection, compute_constant   i_ct, i_ci, i_cco
    memory_per_traversal, memory_per_intersection, memory_constant      i_mt, i_mi, i_mco
    """

    compute_per_traversal: float
    compute_per_intersection: float
    compute_constant: float
    memory_per_traversal: float
    memory_per_intersection: float
    memory_constant: float


@dataclass(frozen=True)
class Workload:
    """Averages of a frame, from a look at low resolution.

    primary_traversals, primary_intersections  p_t, p_i: nodes and triangles that a primary ray visits.
    occlusion_traversals                       a_t: nodes that a ray of ambient occlusion visits.
    occlusion_intersections                    a_w: triangles that it tests.
    hit_share                                  t_v: share of primary rays that hit.
    coherence                                  m, 0 to 1: share of rays that end in the commonest leaf of their region.
    shadow_traversals, shadow_intersections    of a shadow ray to one light.
    """

    primary_traversals: float
    primary_intersections: float
    occlusion_traversals: float
    occlusion_intersections: float
    hit_share: float
    coherence: float
    shadow_traversals: float = 0.0
    shadow_intersections: float = 0.0

    def __post_init__(self) -> None:
        for name in ("hit_share", "coherence"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must lie within 0 and 1, not {value}")


@dataclass(frozen=True)
class Readings:
    """Choices where the paper is unclear; docs/sources/tuner.md#readings has the reason of each default.

    cache_exponent  "outer": 2^-(x/cache_steps - 1), all cached up to ``cache_steps`` nodes; "literal": as printed.
    cache_steps     traversals per halving of the share of accesses that the cache serves.
    cache           whether the cache serves m^2 of the primary rays: "device", as that has one; "always"; "never".
    repetitions     "plain": fractions count as they are; "whole": at least 1.
    accesses        of an uncoalesced instruction; 0: the threads of a warp.
    load_bytes      that a lane loads by one memory instruction.
    shrink          pixels of the frame, in x and in y, that one pixel of a look stands for.
    region          rays of a look, in x and in y, whose last leaves are compared.
    probes          rays of ambient occlusion that a look traces a pixel.
    """

    cache_exponent: str = "outer"
    cache_steps: float = CACHE_STEPS
    cache: str = "device"
    repetitions: str = "plain"
    accesses: int = 0
    load_bytes: int = 4
    shrink: int = 8
    region: int = REGION
    probes: int = 4

    def __post_init__(self) -> None:
        words = {"cache_exponent": ("outer", "literal"), "cache": ("device", "always", "never")}
        for name, known in (words | {"repetitions": ("plain", "whole")}).items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)}")
        for name in ("cache_steps", "load_bytes", "shrink", "region", "probes"):
            if not 0 < getattr(self, name) < 2**20:
                raise ValueError(f"{name} must be above 0 and below 2^20, not {getattr(self, name)}")
        for name in ("accesses", "region", "probes"):
            if not 0 <= getattr(self, name) <= MOST:
                raise ValueError(f"{name} must be at most {MOST} and not negative, not {getattr(self, name)}")


@dataclass(frozen=True)
class Instructions:
    """Instructions of one thread: arithmetic i_c, uncoalesced i_mu and coalesced i_mc of memory. float64, any shape."""

    compute: NDArray[np.float64]
    uncoalesced: NDArray[np.float64]
    coalesced: NDArray[np.float64]

    @property
    def memory(self) -> NDArray[np.float64]:
        """i_m."""
        return self.uncoalesced + self.coalesced


def count_instructions(
    kernel: KernelCounts,
    load: Workload,
    occlusion_rays: Any,
    shadow_rays: Any = 0,
    has_cache: bool = True,
    readings: Readings | None = None,
) -> Instructions:
    """Instructions of a thread that traces a primary ray, ``occlusion_rays`` (a_r) and ``shadow_rays`` after it.

    Without a cache no access is spared: m^2 is 0. Shadow rays weigh as primary rays do. Source: paper 4.3.
    """
    a_r, s_r = np.asarray(occlusion_rays, np.float64), np.asarray(shadow_rays, np.float64) * load.hit_share
    traversals = load.primary_traversals + s_r * load.shadow_traversals
    intersections = load.primary_intersections + s_r * load.shadow_intersections
    compute = (
        kernel.compute_per_traversal * (load.occlusion_traversals * a_r + traversals)
        + kernel.compute_per_intersection * (intersections + load.occlusion_intersections * load.hit_share * a_r)
        + kernel.compute_constant
    )
    readings = readings or Readings()
    has_cache = has_cache if readings.cache == "device" else readings.cache == "always"
    cached = load.coherence**2 if has_cache else 0.0
    first = kernel.memory_per_traversal * traversals + kernel.memory_per_intersection * intersections
    first = (first + kernel.memory_constant) * (1 - cached)
    after = kernel.memory_per_traversal * load.occlusion_traversals * a_r
    after = after + load.hit_share * kernel.memory_per_intersection * a_r / 2
    after = after * occlusion_misses(load, readings)
    compute, first, after = np.broadcast_arrays(compute, first, after)
    return Instructions(compute, first * (1 - load.coherence) + after, first * load.coherence)


def occlusion_misses(load: Workload, readings: Readings) -> float:
    """a_ca: share of the occlusion rays' accesses that no cache serves."""
    steps = (load.occlusion_traversals + load.primary_traversals) / readings.cache_steps
    exponent = 1 - steps if readings.cache_exponent == "outer" else -steps - 1
    return 1 - min(1.0, 2.0**exponent)
