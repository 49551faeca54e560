"""HyPA's profile of a whole network, launch by launch.

Where no jump of a kernel depends on data, which holds for all kernels of ``examples/cnn``, the slice of a launch reads
no memory, and its tensors need not exist. Such a launch is analysed with stand-ins: its n-th tensor is the n-th
allocation of an arena that all launches share and nobody touches. Launches that are then equal in everything have one
profile.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from tqdm import tqdm

from formats.column import STRING
from formats.network_profile import NETWORK_PROFILE
from ptx.ir import Module
from ptx.pointers import Object
from tracer.driver import ComputeLaunch
from tracer.memory import DeviceMemory
from tracer.network_plan import Plan, PlannedLaunch, Tensor
from tracer.network_run import FLOAT_BYTES, NetworkMemory, bind, fill_random
from tracer.profile import Profile, launch_program, profile_launch
from tracer.profile_slice import SliceCache, needed_by_later


@dataclass(frozen=True)
class LaunchProfile:
    """The profile of one launch; ``same_as`` is the number of the first launch that is equal to it."""

    launch: PlannedLaunch
    profile: Profile
    same_as: int


def profile_network(plan: Plan, module: Module, method: str = "slice", progress: bool = True) -> list[LaunchProfile]:
    """Profile every launch of a plan, in order; both methods of ``profile_launch`` give the same counts.

    Slices that read memory, and ``full``, run on random weights and a random image (``random_weights``), placed in
    device memory. Raises ``UserError`` as ``profile_launch`` does.
    """
    cache = SliceCache()
    launches = _with_stand_ins(plan, module)
    needs_memory = method != "slice" or any(_reads_memory(launch, cache) for launch in launches)
    if not needs_memory:
        return _profile_once_each(plan, launches, cache, progress)
    placed = NetworkMemory(plan)
    fill_random(placed, plan)
    launches = [bind(launch, module, placed.addresses, placed.memory) for launch in plan.launches]
    results: list[frozenset[Object]] = [frozenset()] * len(launches)
    if method == "slice":
        results = needed_by_later(launches, list(map(launch_program, launches)), [None] * len(launches), {}, cache)
    made = []
    for number, launch in enumerate(_shown(launches, plan, progress)):
        profile = profile_launch(launch, method, False, results[number], cache)
        made.append(LaunchProfile(plan.launches[number], profile, number))
    return made


def _with_stand_ins(plan: Plan, module: Module) -> list[ComputeLaunch]:
    """The launches on an arena of stand-ins, each as long as the largest tensor and a byte apart from the next."""
    tensors = [[a for a in launch.arguments if isinstance(a, Tensor)] for launch in plan.launches]
    largest = max(prod(tensor.shape) for named in tensors for tensor in named)
    memory = DeviceMemory()
    addresses = [memory.allocate(FLOAT_BYTES * largest + 1) for _ in range(max(map(len, tensors)))]
    bound = []
    for launch, named in zip(plan.launches, tensors, strict=True):
        own: dict[str, int] = {}
        for tensor in named:  # a tensor that is read and written in place has one address
            own.setdefault(tensor.name, addresses[len(own)])
        bound.append(bind(launch, module, own, memory))
    return bound


def _reads_memory(launch: ComputeLaunch, cache: SliceCache) -> bool:
    """Whether the slice of a launch reads what other launches, or the host, can write."""
    cut, _ = cache.find(launch, launch_program(launch), frozenset())
    objects, anywhere = cut.read()
    return anywhere or any(item[0] == "allocation" or item[1:2] == ("global",) for item in objects)


def _profile_once_each(
    plan: Plan, launches: list[ComputeLaunch], cache: SliceCache, progress: bool
) -> list[LaunchProfile]:
    """Profile launches that read no memory: of those that are equal only the first."""
    first: dict[tuple[object, ...], int] = {}
    made: list[LaunchProfile] = []
    for number, launch in enumerate(_shown(launches, plan, progress)):
        key = (launch.entry, launch.grid, launch.block, launch.params)
        same = first.setdefault(key, number)
        if same == number:
            profile = profile_launch(launch, "slice", False, cache=cache)
        else:
            profile = replace(made[same].profile, seconds=0.0)
        made.append(LaunchProfile(plan.launches[number], profile, same))
    return made


def _shown(launches: list[ComputeLaunch], plan: Plan, progress: bool) -> Iterable[ComputeLaunch]:
    """The launches, with a bar that appears when they take long."""
    return tqdm(launches, plan.network.name, unit=" launches", disable=None if progress else True, delay=2)


def profile_columns(plan: Plan, profiles: list[LaunchProfile]) -> dict[str, np.ndarray]:
    """The table ``NETWORK_PROFILE``, a column per name."""
    rows = [_row(number, plan, each) for number, each in enumerate(profiles)]
    return {
        column.name: np.array([row[column.name] for row in rows], object if column.dtype == STRING else column.dtype)
        for column in NETWORK_PROFILE.columns
    }


def _row(number: int, plan: Plan, each: LaunchProfile) -> dict[str, object]:
    placed, p = plan.layers[each.launch.layer].placed, each.profile
    axes = zip(("grid", "block"), (each.launch.grid, each.launch.block), strict=True)
    return {
        "launch": number,
        "layer": placed.name,
        "operation": placed.operation,
        "kernel": p.kernel,
        **{f"{name}_{axis}": length for name, lengths in axes for axis, length in zip("xyz", lengths, strict=True)},
        "ctas": p.ctas,
        "threads": p.threads,
        "file_instructions": p.static_instructions,
        "static_instructions": p.static_instructions * p.threads,
        "dynamic_instructions": p.dynamic_instructions,
        "warp_instructions": p.warp_instructions,
        "fp_instructions": p.fp_instructions,
        "flops": int(p.operations.sum()),
        "executed_instructions": p.executed_instructions,
        "branches": p.conditional_branches,
        "divergent_branches": p.divergent_branches,
        "branch_efficiency": branch_efficiency(p.conditional_branches, p.divergent_branches),
        "cta_branches": p.cta_branches,
        "cta_divergent_branches": p.cta_divergent_branches,
        "cta_branch_efficiency": branch_efficiency(p.cta_branches, p.cta_divergent_branches),
        "same_as": each.same_as,
        "duration_ms": 1e3 * p.seconds,
    }


def branch_efficiency(branches: int, divergent: int) -> float:
    """Equation 4 of the paper, in percent; 100 when there are no branches."""
    return 100.0 * (branches - divergent) / branches if branches else 100.0
