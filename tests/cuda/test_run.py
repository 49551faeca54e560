"""``rayplay run``: an ordinary host program computes what it should, and leaves a trace of every kernel."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from rayplay.cuda.library import build_library
from rayplay.cuda.run import Summary, run_program, runtime_version
from rayplay.door.main import main
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from tests.cuda.programs import HAS_COMPILER, compile_host

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="a C compiler is not installed")
THEIRS = Path("/usr/local/cuda/lib/libcudart.so.13")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("host"))


def ran(host: Path, folder: Path, *words: str) -> tuple[Summary, list[str]]:
    with (folder / "said").open("wb") as file:
        summary = run_program([str(host), *words], folder / "x.trace", load("rtx2060"), output=file.fileno())
    return summary, (folder / "said").read_text().splitlines()


def test_copies_symbols_and_printf(host: Path, tmp_path: Path) -> None:
    summary, said = ran(host, tmp_path, "copies", "parameters")
    assert said == [
        "before", "thread 5: 11", "after", "copies 0 7 199 100 8", "free 0 again cudaErrorInvalidValue",
        "parameters 0 7.25",
    ]  # fmt: skip
    assert (summary.code, summary.ran.kernels, summary.ran.warps) == (0, 2, 5)
    assert [launch["name"] for launch in open_trace(tmp_path / "x.trace").manifest.launches] == ["scale", "sum"]


def test_memory_that_both_sides_use_and_streams(host: Path, tmp_path: Path) -> None:
    _, said = ran(host, tmp_path, "shared")
    assert [line for line in said if "thread" not in line] == [
        "pinned 0 109", "registered 0 73 12 20.5", "stack cudaErrorNotSupported",
        "pinned freed 0 cudaErrorInvalidValue",
    ]  # fmt: skip
    assert [launch["stream"] for launch in open_trace(tmp_path / "x.trace").manifest.launches] == [1, 1, 0]


def test_textures_and_surfaces(host: Path, tmp_path: Path) -> None:
    assert ran(host, tmp_path, "images")[1] == ["images 0 0 2 5, 1 2 2"]


def test_graphs_of_nodes(host: Path, tmp_path: Path) -> None:
    summary, said = ran(host, tmp_path, "graph")
    assert said == ["graph 0 4 3 9", "changed 0 7", "circle 0 cudaErrorInvalidValue"]
    assert summary.ran.kernels == 2


def test_captured_streams_become_a_graph(host: Path, tmp_path: Path) -> None:
    summary, said = ran(host, tmp_path, "capture")
    assert said == ["waiting cudaErrorStreamCaptureUnsupported", "before 0 6 0", "captured 0 3 12", "captured 0 3 none"]
    assert summary.ran.kernels == 4
    assert {each["stream"] for each in open_trace(tmp_path / "x.trace").manifest.launches} == {2}  # of the launch


def test_a_capture_ends_with_the_stream_in_which_it_began(host: Path, tmp_path: Path) -> None:
    assert ran(host, tmp_path, "gone")[1] == ["gone 0 0 1010101 cudaErrorInvalidValue"]


def test_graphs_in_graphs_are_cloned_updated_and_changed(host: Path, tmp_path: Path) -> None:
    summary, said = ran(host, tmp_path, "nested")
    assert said == [
        "nested 0 9 1", "changed 0 19", "disabled 0 0 19", "enabled 0 79", "child cudaErrorInvalidValue",
        "differs cudaErrorGraphExecUpdateFailure 2", "foreign cudaErrorInvalidValue",
        "none" + 5 * " cudaErrorInvalidValue" + ", cudaErrorInvalidDeviceFunction",
    ]  # fmt: skip
    assert summary.ran.kernels == 4


def test_graphs_are_edited(host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOT", str(tmp_path / "graph.dot"))
    summary, said = ran(host, tmp_path, "edit")
    assert said == ["nodes 0 3 1 1", "changed 0 5", "none cudaErrorInvalidValue", "without 0 3 0"]
    assert summary.ran.kernels == 2
    drawn = (tmp_path / "graph.dot").read_text().splitlines()
    assert drawn[1:-1] == [
        '  n0 [label="take"];', '  n1 [label="fill"];', "  n0 -> n1;", '  n2 [label="scale"];', '  n3 [label="copy"];',
        "  n2 -> n3;",
    ]  # fmt: skip


def test_a_child_graph_is_replaced_by_the_common_call(host: Path, tmp_path: Path) -> None:
    assert ran(host, tmp_path, "child")[1] == [
        "child 0 2 1 2", "differs cudaErrorInvalidValue, itself cudaErrorInvalidValue",
    ]  # fmt: skip


LISTS = [
    "twice cudaErrorInvalidValue cudaErrorInvalidValue cudaErrorInvalidValue", "edges 0 2 1 0 0 1", "room 0 1 1 1 1",
    "without 0 0", "needs cudaErrorInvalidValue cudaErrorInvalidValue 0 0", "roots 0 2",
]  # fmt: skip


def test_edges_are_there_once_and_lists_keep_to_their_room(host: Path, tmp_path: Path) -> None:
    assert ran(host, tmp_path, "lists")[1] == LISTS


def test_attributes_are_written_with_their_own_bytes(host: Path, tmp_path: Path) -> None:
    assert ran(host, tmp_path, "attributes")[1] == [
        "stream 0 -1 7 1 7 -3 -3", "bytes 0 0 x 0 x 0 7 cudaErrorInvalidValue",
        "clusters 0 cudaErrorNotSupported cudaErrorNotSupported cudaErrorInvalidValue",
    ]  # fmt: skip


def test_threads_share_the_library(host: Path, tmp_path: Path) -> None:
    summary, said = ran(host, tmp_path, "threads")
    assert [line for line in said if not line.startswith("thread 5")] == ["threads 6"]
    assert summary.ran.kernels == 36


def test_pools_attributes_and_peers(host: Path, tmp_path: Path) -> None:
    assert ran(host, tmp_path, "pools")[1] == [
        "pool 0 64 1 7", "used 0 0 1000 0 1000 200 0 3 cudaErrorInvalidValue", "free 0 7096 0", "attribute 0 kept 0",
        "peer cudaErrorInvalidDevice cudaErrorInvalidDevice",
    ]  # fmt: skip


def test_a_failed_assertion_is_said_and_leaves_the_exit_code(host: Path, tmp_path: Path) -> None:
    summary, said = ran(host, tmp_path, "assert", "exit3")
    assert said == ["checked 0", "waited cudaErrorAssert"]
    assert summary.code == 3
    assert summary.text().startswith("no trace: checked: ")
    assert "assertion `to[threadIdx.x] == 1` failed; exit code 3" in summary.text()
    assert summary.record()["assertion"] in summary.text()
    assert not list(tmp_path.glob("*.trace"))


def test_errors_are_those_of_cuda(host: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    summary, said = ran(host, tmp_path, "errors", "exit7")
    assert said == [
        "kernel cudaErrorInvalidDeviceFunction", "missing cudaErrorInvalidDeviceFunction",
        "block cudaErrorInvalidConfiguration", "grid cudaErrorInvalidConfiguration", "shared cudaErrorInvalidValue",
        "copy cudaErrorInvalidValue", "symbol cudaErrorInvalidSymbol", "past cudaErrorInvalidValue",
        "handle cudaErrorNotSupported", "last cudaErrorNotSupported, then cudaSuccess",
    ]  # fmt: skip
    assert capfd.readouterr().err.count("rayplay: cudaIpcGetMemHandle is not supported") == 1
    assert summary.code == 7
    assert not (tmp_path / "x.trace").exists()  # no kernel ran


def test_the_device_is_the_chosen_gpu(host: Path, tmp_path: Path) -> None:
    _, said = ran(host, tmp_path, "device")
    assert said == [
        "device 0 Rayplay rtx2060 30 7",
        "kernel 1024 75 75 4",
        "time 0 0.003663",
    ]  # 5,000 cycles at 1,365 MHz


def test_a_kernel_that_fails_leaves_no_trace(host: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"outside: host13-0.ptx:\d+: st.global.* 4,096 bytes past the end"):
        ran(host, tmp_path, "copies", "outside")
    said = (tmp_path / "said").read_text().splitlines()[-5:]  # launches do not wait: the first call that does says it
    assert said == [
        "outside cudaSuccess", "last cudaSuccess", "waited cudaErrorIllegalAddress", "again cudaErrorIllegalAddress",
        "last cudaErrorIllegalAddress",
    ]  # fmt: skip
    assert not list(tmp_path.glob("*.trace"))


def test_a_signal_is_an_exit_code_and_the_trace_stays(host: Path, tmp_path: Path) -> None:
    summary, _ = ran(host, tmp_path, "parameters", "abort")
    assert summary.code == 134
    assert open_trace(tmp_path / "x.trace").manifest.launches[0]["name"] == "sum"


def test_the_same_run_gives_the_same_bytes(host: Path, tmp_path: Path) -> None:
    digests = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        ran(host, tmp_path / name, "parameters")
        digests.append((tmp_path / name / "x.trace" / "manifest.json").read_bytes())
    assert digests[0] == digests[1]


def test_a_program_of_an_older_runtime_has_its_own_device_properties_and_calls(tmp_path: Path) -> None:
    host = compile_host(tmp_path, "zstd", 12)
    assert runtime_version(host) == 12
    assert ran(host, tmp_path, "device", "lists")[1] == [
        "device 0 Rayplay rtx2060 30 7", "kernel 1024 75 75 4", "time 0 0.003663", *LISTS,
    ]  # fmt: skip


def test_the_command(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--json", "--gpu", "mobile", str(host), "parameters", "device", "--out", "exit3"]) == 3
    out, err = capfd.readouterr()
    (record,) = json.loads(out)
    assert record["launches"] == 2
    assert record["exit_code"] == 3
    assert "parameters 0 7.25" in err
    assert "Rayplay mobile" in err
    assert (tmp_path / "traces" / "host13.trace").is_dir()


def test_a_program_that_holds_the_runtime_is_told_how_to_link(tmp_path: Path) -> None:
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "empty.c", "-o", "static"], cwd=tmp_path, check=True)
    with pytest.raises(UserError, match=r"must load libcudart\.so, and does not: link it with nvcc -cudart shared"):
        run_program([str(tmp_path / "static")], tmp_path / "x.trace", load("rtx2060"))
    whole = (tmp_path / "static").read_bytes()
    for size in (70, 2000, len(whole) - 1000):
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(UserError, match=r"cut: (ends within|must|names)"):
            runtime_version(tmp_path / "cut")


@pytest.mark.skipif(not (THEIRS.exists() and shutil.which("nm")), reason="CUDA's runtime library is not installed")
def test_every_function_of_cudas_library_is_one_of_ours(tmp_path: Path) -> None:
    theirs, ours = functions(THEIRS), functions(build_library(13, tmp_path))
    assert len(theirs) > 400
    assert not theirs - ours


def functions(library: Path) -> set[str]:
    listed = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in listed.stdout.splitlines() if " T " in line}
