"""HyPA's profile of a whole network, launch by launch.

Where no jump of a kernel depends on data, which holds for all kernels of ``examples/cnn``, the slice of a launch reads
no memory, and its tensors need not exist. Such a launch is analysed with stand-ins: its n-th tensor is the n-th
allocation of an arena that all launches share and none touches. Launches that are then equal in everything have one
profile.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tqdm import tqdm

from rayplay.formats.guard.strict import check_choice
from rayplay.hypa.network.plan import Plan, Tensor
from rayplay.hypa.network.run import FLOAT_BYTES, NetworkMemory, bind, fill_random
from rayplay.hypa.profile import METHODS, launch_program
from rayplay.hypa.session import FileProfile, LaunchProfile, compile_engine, profile_by
from rayplay.hypa.slices import SliceCache, memory_read, needed_by_later
from rayplay.hypa.slicing.pointers import Object
from rayplay.ptx.ir import Module
from rayplay.ptx.program import Program
from rayplay.tracer.launch import checked_module
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory


@dataclass(frozen=True)
class NetworkProfile:
    """A network's plan, the profiles of its launches, and per launch the number of the first one that equals it."""

    plan: Plan
    launches: FileProfile
    same_as: tuple[int, ...]

    def layer_rows(self) -> list[dict[str, Any]]:
        """The rows of the table ``layers`` of ``formats.dataset.profile``."""
        rows = []
        for number, (launch, same) in enumerate(zip(self.plan.launches, self.same_as, strict=True)):
            placed = self.plan.layers[launch.layer].placed
            row = {"launch": number, "layer": placed.name, "operation": placed.operation, "same_as": same}
            for name, lengths in (("grid", launch.grid), ("block", launch.block)):
                row |= {f"{name}_{axis}": length for axis, length in zip("xyz", lengths, strict=True)}
            rows.append(row)
        return rows


def profile_network(plan: Plan, method: str = "slice", progress: bool = True) -> NetworkProfile:
    """Profile every launch of a plan by one of ``METHODS``, which give the same counts.

    Slices that read memory, and ``full``, run on random weights and a random image (``random_weights``), placed in
    device memory. Raises ``UserError`` as ``profile_launch`` does, or when the PTX file has problems.
    """
    check_choice(method, METHODS, "method")
    module = checked_module(plan.network.program)
    compile_engine()
    cache = SliceCache()
    launches = _with_stand_ins(plan, module)
    by_entry = {launch.entry: launch_program(launch) for launch in launches}
    programs = [by_entry[launch.entry] for launch in launches]
    cuts = (cache.find(*each, frozenset())[0] for each in zip(launches, programs, strict=True))
    if method == "slice" and not any(map(memory_read, cuts)):
        made, same_as = _profile_once_each(plan, launches, programs, cache, progress)
    else:
        made = _profile_in_memory(plan, module, programs, method, cache, progress)
        same_as = list(range(len(made)))
    file = FileProfile(plan.network.program, plan.network.path, method, module, tuple(made))
    return NetworkProfile(plan, file, tuple(same_as))


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


def _profile_once_each(
    plan: Plan, launches: list[ComputeLaunch], programs: list[Program], cache: SliceCache, progress: bool
) -> tuple[list[LaunchProfile], list[int]]:
    """Profile launches that read no memory, of equal ones only the first; and per launch the number of its first."""
    first: dict[tuple[object, ...], int] = {}
    made: list[LaunchProfile] = []
    same_as = []
    for number, launch in enumerate(_shown(launches, plan, progress)):
        same = first.setdefault((launch.entry, launch.grid, launch.block, launch.params), number)
        if same == number:
            made.append(profile_by("slice", launch, programs[number], frozenset(), cache, progress=False))
        else:
            made.append(replace(made[same], profile=replace(made[same].profile, seconds=0.0)))
        same_as.append(same)
    return made, same_as


def _profile_in_memory(
    plan: Plan, module: Module, programs: list[Program], method: str, cache: SliceCache, progress: bool
) -> list[LaunchProfile]:
    """Profile launches on the tensors that the launches before have left."""
    placed = NetworkMemory(plan)
    fill_random(placed, plan)
    launches = [bind(launch, module, placed.addresses, placed.memory) for launch in plan.launches]
    needed: list[frozenset[Object]] = [frozenset()] * len(launches)
    if method == "slice":
        needed = needed_by_later(launches, programs, [None] * len(launches), {}, cache)
    return [
        profile_by(method, launch, programs[number], needed[number], cache, progress=False)
        for number, launch in enumerate(_shown(launches, plan, progress))
    ]


def _shown(launches: list[ComputeLaunch], plan: Plan, progress: bool) -> Iterable[ComputeLaunch]:
    """The launches, with a bar that appears when they take long."""
    return tqdm(launches, plan.network.name, unit=" launches", disable=None if progress else True, delay=2)
