"""On random programs, executing the slice counts what executing everything does, and what the definitions say."""

import struct

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayplay import ptx
from rayplay.hypa.profile import VisitCounts, count_launch, launch_program
from rayplay.hypa.slices import SliceCache
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.recorder import MemorySink
from rayplay.tracer.run import run_compute_launch
from tests.reference.profile_slow import count
from tests.tracer.harness.random_programs import WORDS, random_program

THREADS, CTAS = 80, 2


def launch_of(text: str, same_buffer: bool) -> ComputeLaunch:
    module = ptx.parse(text, "random.ptx")
    memory = DeviceMemory()
    random = np.random.default_rng(3)
    addresses = [memory.allocate(random.integers(0, 200, WORDS, np.uint32)) for _ in range(2)]
    params = tuple(struct.pack("<Q", addresses[0 if same_buffer else k]) for k in range(2))
    return ComputeLaunch(module, "k", (CTAS, 1, 1), (THREADS, 1, 1), params, memory)


def by_definition(launch: ComputeLaunch) -> dict[str, dict[int, int]]:
    sink = MemorySink()
    run_compute_launch(launch, sink, progress=False)
    visits = sink.table("visits")
    rows = zip(*(visits[column].tolist() for column in ("warp_id", "block_id", "active_mask")), strict=True)
    return {name: +counts for name, counts in count(launch_program(launch), list(rows), -(-THREADS // 32)).items()}


def nonzero(counts: VisitCounts) -> dict[str, dict[int, int]]:
    names = ("visits", "lanes", "divergent", "cta_branches", "cta_divergent")
    return {name: {k: v for k, v in enumerate(getattr(counts, name).tolist()) if v} for name in names}


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30), st.booleans())
def test_the_slice_of_a_random_program_counts_as_all_of_it(seed: int, same_buffer: bool) -> None:
    text = random_program(seed)
    full, sliced = launch_of(text, same_buffer), launch_of(text, same_buffer)
    program = launch_program(full)
    cut, reduced = SliceCache().find(sliced, program, frozenset())
    assert len(launch_program(reduced).block_base) == len(program.block_base)
    expected = count_launch(full, program, progress=False)
    assert count_launch(reduced, program, progress=False) == expected
    found, definition = nonzero(expected), by_definition(launch_of(text, same_buffer))
    assert all(found[name] == definition.get(name, {}) for name in found)
    assert cut.kept.any()
