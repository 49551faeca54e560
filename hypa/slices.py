"""The slices of launches: what their parameters point into, and what later launches need of them."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from rayplay.hypa.slicing.pointers import ANYWHERE, NUMBER, UNKNOWN, Arguments, Object, Target
from rayplay.hypa.slicing.reduce import reduced_module
from rayplay.hypa.slicing.slice import Slice, slice_program
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.program import Program
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory

Key = tuple[object, ...]


class SliceCache:
    """Slices of launches, made once for all launches of a kernel whose parameters point into the same objects."""

    def __init__(self) -> None:
        self._made: dict[Key, tuple[Slice, Module]] = {}
        self._kept: list[Module] = []  # an id is only one for as long as its module lives

    def find(self, launch: ComputeLaunch, program: Program, results: frozenset[Object]) -> tuple[Slice, ComputeLaunch]:
        """The slice of a launch, and the launch of it alone."""
        targets = parameter_targets(launch, program.functions[0])
        key = (id(launch.module), launch.entry, tuple(sorted(targets.items())), results)
        if key not in self._made:
            cut = slice_program(program, arguments_of(targets), results)
            self._made[key] = cut, reduced_module(cut)
            self._kept.append(launch.module)
        cut, module = self._made[key]
        return cut, replace(launch, module=module)


def parameter_targets(launch: ComputeLaunch, entry: Function) -> dict[tuple[str, int], Target]:
    """(parameter, offset) -> what an address that lies there points into, for all places where one can lie."""
    size = launch.module.address_size // 8
    found = {}
    for variable, value in zip(entry.parameters, launch.params, strict=False):
        for offset in range(0, len(value) - size + 1, size):
            address = int.from_bytes(value[offset : offset + size], "little")
            found[variable.name, offset] = address_target(launch.memory, address)
    return found


def address_target(memory: DeviceMemory, address: int) -> Target:
    """The allocation that an address points into; a number where it points into none.

    The end of an allocation is its own, unless another one starts there.
    """
    index = bisect_right(memory.allocations, (address, 1 << 62)) - 1
    if index < 0 or address > sum(memory.allocations[-1][:2]):
        return NUMBER
    return Target(frozenset((("allocation", str(index)),)), address - memory.allocations[index][0])


def arguments_of(targets: dict[tuple[str, int], Target]) -> Arguments:
    """The parameters of a kernel, for ``hypa.slicing.pointers``."""

    def target(name: str, offset: int | None, size: int) -> Target:
        own = [found for (parameter, _), found in targets.items() if parameter == name]
        if not own:
            return NUMBER
        if offset is not None:
            return targets.get((name, offset), UNKNOWN)
        return Target(frozenset().union(*(found.objects for found in own)))

    return target


def needed_by_later(
    launches: Sequence[ComputeLaunch],
    programs: Sequence[Program],
    groups: Sequence[str | None],
    flags: dict[str, frozenset[Object]],
    cache: SliceCache,
) -> list[frozenset[Object]]:
    """Per launch the objects in memory that slices of launches after it read.

    groups  per launch the group that is repeated with it, None for one that runs once; launches of a group follow each
            other. flags: objects that the host reads to decide whether a group is repeated.
    """
    needed: list[frozenset[Object]] = [flags.get(group or "", frozenset()) for group in groups]
    changed = True
    while changed:
        changed = False
        reads = [memory_read(cache.find(*each)[0]) for each in zip(launches, programs, needed, strict=True)]
        for number, group in enumerate(groups):
            later = set(reads[number + 1 :])
            if group is not None:
                later |= {read for read, other in zip(reads, groups, strict=True) if other == group}
            wanted = needed[number].union(*later)
            changed |= wanted != needed[number]
            needed[number] = wanted
    return needed


def memory_read(cut: Slice) -> frozenset[Object]:
    """Objects read by a slice that other launches or the host can write; ``ANYWHERE`` for an unknown one."""
    objects, anywhere = cut.read()
    lasting = {item for item in objects if item[0] == "allocation" or item[1:2] == ("global",)}
    return frozenset(lasting | {ANYWHERE}) if anywhere else frozenset(lasting)
