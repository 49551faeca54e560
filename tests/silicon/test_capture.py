"""A capture equals an execution, byte for byte; a program that cannot be captured is one clear line."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.silicon.capture import CaptureSummary, LaunchCapture, capture
from rayplay.silicon.devices.executor import Executor
from rayplay.silicon.instrument import SLOT_BYTES
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.launch import run_launch_file
from tests.tracer.harness.random_programs import random_program

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {
    path.stem: path for path in sorted((ROOT / "examples").glob("[!cs]*/*.toml")) if path.parent.name != "gallery"
}
KERNELS = {path.stem: path for path in sorted((ROOT / "tracer" / "kernels").glob("*.toml"))}
TEXTBOOK = ROOT / "silicon" / "kernels" / "textbook_64.toml"
QUICK = ("histogram", "needle", "nearest_neighbour", "reduction", "vector_add")
RANDOM = """program = "random.ptx"
[buffers.a]
dtype = "uint32"
shape = [64]
generator = "arange"
[buffers.b]
dtype = "uint32"
shape = [64]
generator = "random"
low = 0
high = 1000
seed = 3
[[launch]]
entry = "k"
grid = [2]
block = [40]
parameters = [{ buffer = "a" }, { buffer = "b" }]
"""
SPACES = """.version 7.8
.target sm_75
.address_size 64
.global .u32 total[4];
.visible .entry k(.param .u64 a, .param .u64 b)
{
    .reg .b64 %x<9>; .reg .b32 %r<9>; .reg .pred %p;
    .shared .align 4 .b8 tile[256]; .local .align 4 .b8 frame[64];
    ld.param.u64 %x1, [a];
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 15;
    mul.wide.u32 %x2, %r2, 4;
    mov.u64 %x3, tile; cvta.shared.u64 %x3, %x3; add.u64 %x3, %x3, %x2;
    mov.u64 %x4, frame; cvta.local.u64 %x5, %x4; add.u64 %x5, %x5, %x2; add.u64 %x4, %x4, %x2;
    setp.lt.u32 %p, %r1, 9;
    st.u32 [%x3], %r1;
    st.u32 [%x5], %r2;
    @%p ld.local.u32 %r3, [%x4];
    @!%p ld.u32 %r3, [%x3];
    @%p st.local.u32 [frame+8], %r3;
    add.u64 %x1, %x1, %x2;
    @%p st.u32 [%x1], %r3;
    mov.u64 %x6, total; red.global.add.u32 [%x6+4], 1;
    atom.global.add.u32 %r4, [total], %r3;
    ret;
}
"""


def captured(path: Path, folder: Path, backend: str = "machine", **more: int) -> CaptureSummary:
    """Execute and capture a launch file; both traces must have the same files with the same bytes."""
    one, other = folder / "executed.trace", folder / "captured.trace"
    run_launch_file(path, one, backend=backend, progress=False)
    summary = capture(path, other, Executor(backend), **more)
    names = sorted(file.name for file in one.iterdir())
    assert names == sorted(file.name for file in other.iterdir())
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    return summary


@pytest.mark.parametrize("name", QUICK)
def test_a_capture_of_an_example_is_its_execution(name: str, tmp_path: Path) -> None:
    assert captured((KERNELS | EXAMPLES)[name], tmp_path).thread_instructions


@pytest.mark.later
@pytest.mark.parametrize("name", [name for name in KERNELS | EXAMPLES if name not in QUICK])
def test_a_capture_of_any_example_is_its_execution(name: str, tmp_path: Path) -> None:
    assert captured((KERNELS | EXAMPLES)[name], tmp_path).thread_instructions


def test_a_capture_of_the_textbook_kernels_is_their_execution(tmp_path: Path) -> None:
    assert captured(TEXTBOOK, tmp_path).kernels == 6


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_capture_of_a_random_program_is_its_execution(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("random")
    (folder / "random.ptx").write_text(random_program(seed))
    (folder / "random.toml").write_text(RANDOM)
    captured(folder / "random.toml", folder, "interpreter")


def test_addresses_of_every_state_space_come_back(tmp_path: Path) -> None:
    (tmp_path / "random.ptx").write_text(SPACES)
    (tmp_path / "random.toml").write_text(RANDOM)
    captured(tmp_path / "random.toml", tmp_path, "interpreter")


def test_ranges_of_ctas_give_the_same_bytes(tmp_path: Path) -> None:
    assert captured(KERNELS["vector_add"], tmp_path, memory_bytes=40_000).runs > 3


def test_a_cta_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--memory must allow"):
        capture(KERNELS["vector_add"], tmp_path / "x.trace", Executor(), memory_bytes=1000)
    assert not (tmp_path / "x.trace").exists()


class Changing(Executor):
    """A device that changes its memory before each run: loops run longer from run to run."""

    runs = 0

    def launch(self, program, launch, params, constants):  # type: ignore[no-untyped-def]
        self.runs += 1
        address = self.memory.allocations[0][0]
        self.memory.view(address, np.uint32, 1)[:] = 40 * self.runs**3
        super().launch(program, launch, params, constants)


def test_a_thread_that_takes_another_path_each_time_is_refused(tmp_path: Path) -> None:
    text = (
        SPACES.split(".global")[0]
        + """.visible .entry k(.param .u64 a, .param .u64 b)
{
    .reg .b64 %x; .reg .b32 %r<3>; .reg .pred %p;
    ld.param.u64 %x, [a];
    ld.global.u32 %r1, [%x];
AGAIN:
    ld.global.u32 %r2, [%x+4];
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra AGAIN;
    ret;
}
"""
    )
    (tmp_path / "random.ptx").write_text(text)
    (tmp_path / "random.toml").write_text(RANDOM)
    with pytest.raises(UserError, match="must take the same path each time"):
        capture(tmp_path / "random.toml", tmp_path / "x.trace", Changing("interpreter"))
    assert not (tmp_path / "x.trace").exists()


def test_an_instruction_without_notes_is_refused_with_its_line(tmp_path: Path) -> None:
    text = (
        SPACES.split(".global")[0].replace("sm_75", "sm_80")
        + """.visible .entry k(.param .u64 a, .param .u64 b)
{
    .reg .b64 %x; .shared .align 16 .b8 tile[64]; .reg .b32 %r;
    ld.param.u64 %x, [a];
    mov.u32 %r, tile;
    cp.async.ca.shared.global [%r], [%x], 16;
    ret;
}
"""
    )
    (tmp_path / "random.ptx").write_text(text)
    (tmp_path / "random.toml").write_text(RANDOM)
    with pytest.raises(UserError, match=r"random.ptx:9:\d+: capture does not note the addresses of cp.async"):
        capture(tmp_path / "random.toml", tmp_path / "x.trace", Executor())


def test_a_retry_keeps_to_the_memory() -> None:
    """Six CTAs of a warp with 40 rows each, of which 400 fit: the retry records them in ranges."""
    one = object.__new__(LaunchCapture)
    one.warps, one.ctas, one.launch = 1, 6, SimpleNamespace(entry="k")
    one.variants = SimpleNamespace(plan=SimpleNamespace(most_slots=0))
    one.session = SimpleNamespace(memory_bytes=SLOT_BYTES * LANES * (400 + 2))
    ranges: list[tuple[int, int]] = []
    one._record = lambda rows, first: (ranges.append((first, int(rows.sum()))), None)
    one._send = lambda places, notes, first: (False, None if len(ranges) > 1 else UserError("another path"))
    one._range(np.full(6, 40), 2)
    assert ranges == [(2, 240), (2, 384), (6, 192)]
    one.session.memory_bytes //= 5
    ranges.clear()
    with pytest.raises(UserError, match="--memory must allow"):
        one._range(np.full(1, 40), 2)
