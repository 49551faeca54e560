"""The shipped kernels equal numpy, on both backends, and their traces say what they did."""

from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.laws.check import validate
from rayplay.tracer import kernels
from rayplay.tracer.launch import Summary, run_launch_file
from rayplay.tracer.memory.arena import FIRST_ADDRESS, GUARD_BYTES
from tests.tracer.harness.processors import translate_anew

FOLDER = Path(kernels.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))
Buffers = dict[str, np.ndarray]


def vector_add(buffers: Buffers) -> None:
    assert (buffers["sum"] == buffers["left"] + buffers["right"]).all()


def matrix_multiply(buffers: Buffers) -> None:
    product = buffers["left"].astype(np.float64) @ buffers["right"].astype(np.float64)
    np.testing.assert_allclose(buffers["product"], product, rtol=0, atol=2e-6)


def reduction(buffers: Buffers) -> None:
    threads = buffers["values"].astype(np.float64)
    by_cta = np.zeros(16)
    np.add.at(by_cta, np.arange(threads.size) // 256 % 16, threads)
    np.testing.assert_allclose(buffers["partial"], by_cta, rtol=1e-6)
    np.testing.assert_allclose(buffers["total"], [threads.sum()], rtol=1e-6)


def breadth_first_search(buffers: Buffers) -> None:
    offsets, neighbours = buffers["offsets"].tolist(), buffers["neighbours"].tolist()
    distance = [0] + [-1] * (len(offsets) - 2)
    queue = deque([0])
    while queue:
        vertex = queue.popleft()
        for other in neighbours[offsets[vertex] : offsets[vertex + 1]]:
            if distance[other] < 0:
                distance[other] = distance[vertex] + 1
                queue.append(other)
    assert buffers["distance"].tolist() == distance
    assert min(distance) == -1  # some vertices are out of reach, and the search has some depth
    assert max(distance) > 5


def stencil(buffers: Buffers) -> None:
    start = np.random.default_rng(1).uniform(0, 100, buffers["even"].shape).astype(np.float32)
    steps = [start.astype(np.float64)]
    for _ in range(4):
        cells = steps[-1].copy()
        old = steps[-1]
        mean = (old[1:-1, :-2] + old[1:-1, 2:] + old[:-2, 1:-1] + old[2:, 1:-1]) / 4
        cells[1:-1, 1:-1] += np.float64(np.float32(0.9)) * (mean - old[1:-1, 1:-1])
        steps.append(cells)
    np.testing.assert_allclose(buffers["even"], steps[4], rtol=2e-6)
    np.testing.assert_allclose(buffers["odd"], steps[3], rtol=2e-6)


REFERENCES: dict[str, Callable[[Buffers], None]] = {
    function.__name__: function for function in (vector_add, matrix_multiply, reduction, breadth_first_search, stencil)
}


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Summary]:
    """``traces(kernel, backend)``: the summary of its launch, run once."""
    folder = tmp_path_factory.mktemp("kernels")
    made: dict[tuple[str, str], Summary] = {}

    def make(name: str, backend: str) -> Summary:
        if (name, backend) not in made:
            out = folder / f"{name}-{backend}.trace"
            made[name, backend] = run_launch_file(FOLDER / f"{name}.toml", out, backend=backend, progress=False)
        return made[name, backend]

    return make


def test_every_shipped_kernel_has_a_reference() -> None:
    assert sorted(REFERENCES) == NAMES


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
@pytest.mark.parametrize("name", NAMES)
def test_kernel_equals_numpy(traces: Callable[[str, str], Summary], name: str, backend: str) -> None:
    REFERENCES[name](traces(name, backend).buffers)


@pytest.mark.parametrize("name", NAMES)
def test_backends_write_the_same_bytes(traces: Callable[[str, str], Summary], name: str) -> None:
    machine, interpreter = traces(name, "machine"), traces(name, "interpreter")
    files = sorted(path.name for path in machine.out.iterdir())
    assert files == sorted(path.name for path in interpreter.out.iterdir())
    for file in files:
        assert (machine.out / file).read_bytes() == (interpreter.out / file).read_bytes(), file


@pytest.mark.parametrize("name", NAMES)
def test_trace_keeps_the_laws(traces: Callable[[str, str], Summary], name: str) -> None:
    assert validate(open_trace(traces(name, "machine").out)) == []


@pytest.mark.parametrize("name", NAMES)
def test_summary_counts_what_the_trace_holds(traces: Callable[[str, str], Summary], name: str) -> None:
    summary = traces(name, "machine")
    trace = open_trace(summary.out)
    visits = trace.read("visits")
    count = trace.read("blocks")["instruction_count"][visits["block_id"]].astype(np.int64)
    lanes = np.bitwise_count(visits["active_mask"]).astype(np.int64)
    assert summary.thread_instructions == int((count * lanes).sum())
    assert summary.warps == trace.rows("warps")
    assert summary.kernels == trace.rows("kernels")
    assert summary.bytes_on_disk == sum(file.stat().st_size for file in summary.out.iterdir())
    assert f"{summary.thread_instructions:,}" in summary.text()


def test_addresses_of_vector_add(traces: Callable[[str, str], Summary]) -> None:
    """Thread i of the 20,000 reads two words and writes one; aligned buffers follow each other, a guard apart."""
    trace = open_trace(traces("vector_add", "machine").out)
    accesses = trace.read("accesses")
    bytes_per_buffer = -(-80000 // 256) * 256 + GUARD_BYTES
    assert trace.rows("warps") == 79 * 8
    assert len(accesses["warp_id"]) == 3 * 625
    assert (accesses["lane_mask"] == 0xFFFFFFFF).all()
    addresses = accesses["address"].reshape(625, 3, 32).transpose(1, 0, 2).reshape(3, 20000)
    for buffer, found in zip((1, 0, 2), addresses, strict=True):  # nvcc loads the right operand first
        assert (found == FIRST_ADDRESS + buffer * bytes_per_buffer + 4 * np.arange(20000)).all()


def test_shared_addresses_of_matrix_multiply_stay_in_the_cta(traces: Callable[[str, str], Summary]) -> None:
    trace = open_trace(traces("matrix_multiply", "machine").out)
    assert trace.read("kernels")["shared_bytes"].tolist() == [2 * 16 * 16 * 4]
    space = trace.read("instructions")["memory_space"]
    accesses = trace.read("accesses")
    is_shared = space[accesses["instruction_id"]] == "shared"
    addresses = accesses["address"][np.repeat(is_shared, np.diff(accesses["address_offset"].astype(np.int64)))]
    assert set(np.unique(addresses).tolist()) == set(range(0, 2048, 4))


def test_launches_of_breadth_first_search(traces: Callable[[str, str], Summary]) -> None:
    """One round per level and one that finds nothing new; all of them in one trace."""
    summary = traces("breadth_first_search", "machine")
    levels = int(summary.buffers["distance"].max())
    kernels = open_trace(summary.out).read("kernels")
    assert kernels["name"].tolist() == ["begin", *["expand", "advance"] * (levels + 1)]
    assert kernels["kernel_id"].tolist() == list(range(2 * levels + 3))


def test_a_kernel_is_compiled_once_for_all_its_launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = translate_anew(monkeypatch)
    run_launch_file(FOLDER / "breadth_first_search.toml", tmp_path / "search.trace", progress=False)
    assert len(kept) == 3
