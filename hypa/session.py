"""The profile of a launch file: every launch in order, by its slice, in full, or by static analysis."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from rayplay import ptx
from rayplay.formats.guard.strict import check_choice
from rayplay.hypa.profile import Profile, count_launch, launch_program, make_profile
from rayplay.hypa.slices import SliceCache, address_target, needed_by_later
from rayplay.hypa.slicing.pointers import Object
from rayplay.hypa.slicing.slice import Slice
from rayplay.hypa.visits import static_counts
from rayplay.ptx.ir import Module
from rayplay.ptx.program import Program
from rayplay.tracer.launch import Prepared, prepare
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory

FILE_METHODS = ("slice", "full", "static")


@dataclass(frozen=True)
class LaunchProfile:
    """One launch of a file: its profile, its program and its slice."""

    profile: Profile
    program: Program
    cut: Slice


@dataclass(frozen=True)
class FileProfile:
    """All launches of a file that were asked for, in the order in which they run."""

    program_path: Path
    launch_path: Path
    method: str
    module: Module
    launches: tuple[LaunchProfile, ...]


def profile_file(
    program: Path, launch_file: Path, method: str = "slice", kernel: str | None = None, progress: bool = True
) -> FileProfile:
    """Profile the launches of ``launch_file`` with the PTX file ``program``; of ``kernel`` alone when one is named.

    Raises ``UserError`` for whatever is wrong with the files, and what ``hypa.profile.profile_launch`` raises.
    """
    check_choice(method, FILE_METHODS, "method")
    prepared = prepare(launch_file, program)
    if kernel is not None:
        check_choice(kernel, [launch.entry for launch in prepared.plan.launch], f"{launch_file}: --kernel")
    session = _Session(prepared)
    compile_engine()
    made = []
    several = len(prepared.plan.launch) > 1
    launches = session.launches(method)
    shown = tqdm(launches, launch_file.stem, unit=" launches", disable=None if progress and several else True, delay=2)
    for number, launch in shown:
        is_wanted = kernel in (None, launch.entry)
        if is_wanted or method == "full" or session.needed[number]:
            linked, needed = session.programs[number], session.needed[number]
            found = profile_by(method, launch, linked, needed, session.cache, progress and not several)
            made += [found] if is_wanted else []
    return FileProfile(program, launch_file, method, prepared.module, tuple(made))


def compile_engine() -> None:
    """Run a kernel that does nothing, so that no launch's time has the compilation of the engine in it."""
    module = ptx.parse(".version 7.0\n.target sm_50\n.address_size 64\n.entry nothing() { ret; }", "nothing.ptx")
    launch = ComputeLaunch(module, "nothing", (1, 1, 1), (1, 1, 1), (), DeviceMemory())
    count_launch(launch, launch_program(launch), progress=False)


class _Session:
    """The launches of a file, their programs and slices, made once each."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.cache = SliceCache()
        plan = prepared.plan
        self.bound = [prepared.bind(launch) for launch in plan.launch]
        by_entry = {launch.entry: launch_program(launch) for launch in self.bound}
        self.programs = [by_entry[launch.entry] for launch in self.bound]
        groups = [launch.repeat for launch in plan.launch]
        flags = {name: self._flag(repeat.while_nonzero) for name, repeat in plan.repeat.items()}
        self.needed = needed_by_later(self.bound, self.programs, groups, flags, self.cache)

    def _flag(self, buffer: str | None) -> frozenset[Object]:
        """The buffer that the host reads after each round of a repeat."""
        if buffer is None:
            return frozenset()
        return address_target(self.prepared.memory, self.prepared.addresses[buffer]).objects

    def launches(self, method: str) -> Iterator[tuple[int, ComputeLaunch]]:
        """Launches as they run, each with its number in the file; static analysis knows no repeats."""
        return iter(enumerate(self.bound)) if method == "static" else self.prepared.schedule()


def profile_by(
    method: str, launch: ComputeLaunch, program: Program, needed: frozenset[Object], cache: SliceCache,
    progress: bool = True,
) -> LaunchProfile:  # fmt: skip
    """Profile a launch of ``program`` by one of ``FILE_METHODS``; ``needed``: what later launches need of it."""
    start = time.perf_counter()
    cut, reduced = cache.find(launch, program, needed)
    if method == "static":
        executed, counts = np.zeros(len(cut.kept), bool), static_counts(program, launch.grid, launch.block)
    elif method == "slice":
        executed, counts = cut.kept, count_launch(reduced, program, progress)
    else:
        executed, counts = np.ones(len(cut.kept), bool), count_launch(launch, program, progress)
    profile = make_profile(launch, program, counts, executed, time.perf_counter() - start)
    return LaunchProfile(profile, program, cut)
