"""A launch file whose run was interrupted goes on in the launch and CTA where it was, and leaves the same bytes."""

from pathlib import Path

import pytest

from rayplay.formats.dataset import resume
from rayplay.formats.dataset.resume import ResumableTraceWriter
from rayplay.tracer import run
from rayplay.tracer.__main__ import main
from rayplay.tracer.launch import Summary, run_launch_file
from tests.formats.schema_strategies import tree_bytes

KERNELS = Path(__file__).resolve().parents[3] / "tracer" / "kernels"
PRINTER = """.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 done) vprintf (.param .b64 text, .param .b64 values);
.global .align 1 .b8 text[10] = {104, 101, 108, 108, 111, 32, 37, 117, 10, 0};
.global .u32 counter;
.visible .entry say(.param .u64 out) {
    .local .align 8 .b8 values[8];
    .reg .u32 %r<4>; .reg .u64 %d<6>; .reg .pred %p;
    mov.u32 %r0, %ctaid.x;
    mov.u64 %d0, values;
    cvta.local.u64 %d1, %d0;
    atom.global.add.u32 %r1, [counter], 1;
    st.local.u32 [%d0], %r1;
    mov.u64 %d2, text;
    cvta.global.u64 %d3, %d2;
    { .param .b64 a; .param .b64 b; .param .b32 c;
      st.param.b64 [a], %d3; st.param.b64 [b], %d1;
      call (c), vprintf, (a, b); }
    ld.param.u64 %d4, [out];
    mul.wide.u32 %d5, %r0, 4;
    add.u64 %d4, %d4, %d5;
    st.global.u32 [%d4], %r1;
    ret;
}
"""
PRINTS = """
program = "say.ptx"
[buffers.out]
dtype = "uint32"
shape = [9]
[repeat.again]
times = 3
[[launch]]
entry = "say"
grid = [9]
block = [1]
repeat = "again"
parameters = [{ buffer = "out" }]
[[launch]]
entry = "say"
grid = [2]
block = [1]
parameters = [{ buffer = "out" }]
[[expect]]
buffer = "out"
values = [27, 28, 20, 21, 22, 23, 24, 25, 26]
"""


@pytest.fixture(autouse=True)
def many_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every eight CTAs."""
    monkeypatch.setattr(run, "CTAS_PER_STEP", 8)
    monkeypatch.setattr(resume, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)


def interrupted(path: Path, out: Path, after: int) -> bool:
    """Run a launch file up to a checkpoint; False when it ended before."""
    plain, count = ResumableTraceWriter.checkpoint, [0]

    def stopping(self: ResumableTraceWriter, facts, arrays) -> None:
        plain(self, facts, arrays)
        count[0] += 1
        if count[0] == after:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ResumableTraceWriter, "checkpoint", stopping)
        try:
            run_launch_file(path, out, progress=False)
        except KeyboardInterrupt:
            return True
    return False


@pytest.mark.parametrize("name", ["breadth_first_search", "reduction", "printer"])
def test_interrupted_anywhere(tmp_path: Path, capsys, name: str) -> None:
    path = KERNELS / f"{name}.toml"
    if name == "printer":
        path = tmp_path / "in" / "say.toml"
        path.parent.mkdir()
        path.write_text(PRINTS)
        path.with_suffix(".ptx").write_text(PRINTER)
    whole = run_launch_file(path, tmp_path / "whole.trace", progress=False)
    out, begun = tmp_path / "out" / "a.trace", []
    for after in range(1, 60, 9) if name == "breadth_first_search" else range(1, 7):
        if not interrupted(path, out, after):
            break
        capsys.readouterr()
        found = run_launch_file(path, out, progress=False, resume=True)
        begun.append(capsys.readouterr().err)
        assert (found.kernels, found.warps, found.printed) == (whole.kernels, whole.warps, whole.printed)
        assert found.thread_instructions == whole.thread_instructions
        assert 0 < found.thread_instructions_before <= whole.thread_instructions
        assert tree_bytes(out) == tree_bytes(whole.out)
        assert [entry.name for entry in out.parent.iterdir()] == ["a.trace"]
    assert len(begun) >= 3
    assert all("going on in launch" in text for text in begun)
    assert len(set(begun)) >= 3
    assert ("hello 20" in whole.printed) == (name == "printer")


def test_the_rate_is_of_this_run_alone(tmp_path: Path) -> None:
    text = Summary(tmp_path, thread_instructions=50_000_000, thread_instructions_before=47_000_000, seconds=1.0).text()
    assert "50,000,000  3.0 M/s" in text


def test_the_verb_goes_on(tmp_path: Path, capsys) -> None:
    path, out = KERNELS / "breadth_first_search.toml", tmp_path / "a.trace"
    assert interrupted(path, out, 7)
    assert main(["launch", str(path), "--out", str(out), "--resume"]) == 0
    assert "going on in launch" in capsys.readouterr().err
    first = tree_bytes(out)
    assert main(["launch", str(path), "--out", str(out), "--resume"]) == 0
    assert "beginning at the beginning" in capsys.readouterr().err
    assert tree_bytes(out) == first
