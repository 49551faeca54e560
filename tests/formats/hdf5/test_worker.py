"""Effects of HDF5 stay in the process that reads it; nothing is loaded, nothing is unpickled."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.convert import convert
from rayplay.formats.guard.digest import PACKAGES
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.hdf5 import source as hdf5_source
from rayplay.formats.hdf5.messages import receive, send
from rayplay.formats.hdf5.source import Hdf5Source, child_environment
from rayplay.formats.schema.trace import TRACE


@pytest.fixture
def path(sample: Path, tmp_path: Path) -> Path:
    """A valid trace in HDF5."""
    convert(open_trace(sample), tmp_path / "a.trace.h5")
    return tmp_path / "a.trace.h5"


def fork_of(source: Hdf5Source) -> int:
    """The process that reads for ``source``: the one whose parent loaded the library."""
    assert hdf5_source._Reader.process is not None
    parent = hdf5_source._Reader.process.pid
    return max(int(p) for p in Path(f"/proc/{parent}/task/{parent}/children").read_text().split())


def test_a_crash_of_the_library_is_one_error(path: Path) -> None:
    trace = open_trace(path)
    os.kill(fork_of(trace.source), signal.SIGSEGV)
    with pytest.raises(
        FormatError, match=r"table visits.*the HDF5 library crashed or ran out of processor time"
    ) as error:
        trace.read("visits")
    assert (error.value.file, error.value.table) == (str(path), "visits")
    np.testing.assert_array_equal(open_trace(path).read("warps")["warp_id"], np.arange(20))


def test_a_library_that_does_not_answer_is_one_error(path: Path) -> None:
    trace = open_trace(path)
    child = fork_of(trace.source)
    os.kill(child, signal.SIGSTOP)
    trace.source._connection.settimeout(0.2)
    with pytest.raises(FormatError, match="the HDF5 library did not answer within"):
        trace.read("visits")
    os.kill(child, signal.SIGKILL)


def test_the_process_that_loaded_the_library_is_replaced(path: Path) -> None:
    open_trace(path)
    process = hdf5_source._Reader.process
    assert process is not None
    process.kill()
    process.wait()
    assert open_trace(path).rows("warps") == 20


def test_no_filter_can_be_loaded(path: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(tmp_path))
    assert child_environment()["HDF5_PLUGIN_PATH"] == ""
    assert child_environment()["HDF5_PLUGIN_PRELOAD"] == "::"
    with h5py.File(path, "r+", libver="latest") as file:
        del file["visits/active_mask"]
        options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        options.set_chunk((16,))
        options.set_filter(32015, h5py.h5z.FLAG_OPTIONAL)
        space, kind = h5py.h5s.create_simple((16,)), h5py.h5t.NATIVE_UINT32
        h5py.h5d.create(file["visits"].id, b"active_mask", kind, space, options)
    with pytest.raises(
        FormatError, match="column active_mask: filters must be gzip, shuffle or fletcher32, not number"
    ):
        open_trace(path)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "EOF"),
        ((1 << 62).to_bytes(8, "little"), "a head of"),
        ((2).to_bytes(8, "little") + b"[]", "lengths"),
        ((18).to_bytes(8, "little") + b'{"bytes": [99999]}', "99999 bytes, more than 100"),
        ((15).to_bytes(8, "little") + b'{"bytes": [-1]}', "lengths"),
        ((3).to_bytes(8, "little") + b"{x}", "Expecting"),
    ],
)
def test_a_child_that_was_taken_over_cannot_ask_for_memory(sent: bytes, message: str) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(sent)
        with pytest.raises((EOFError, ValueError)) as error:
            receive(ours, 100)
        assert message in f"{type(error.value).__name__} {error.value}"


def test_messages_come_through_whole() -> None:
    ours, theirs = socket.socketpair()
    arrays = [np.arange(100_000, dtype=np.uint64), np.empty(0, np.float32), np.array([7], np.int8)]
    with ours, theirs:
        thread = threading.Thread(target=send, args=(theirs, {"answer": 1}, arrays))
        thread.start()
        head, found = receive(ours, 1 << 20)
        thread.join()
    assert head["answer"] == 1
    for array, back in zip(arrays, found, strict=True):
        np.testing.assert_array_equal(back.view(array.dtype), array)


@pytest.mark.parametrize(
    ("variable", "limit"),
    [
        ("RAYPLAY_MAX_FILE_ROWS", "its rows"),
        ("RAYPLAY_MAX_GROUP_BYTES", "rows x width"),
        ("RAYPLAY_MAX_STRING_BYTES", "its texts"),
    ],
)
def test_limits_hold_for_hdf5(path: Path, monkeypatch, variable: str, limit: str) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(FormatError, match=f"{limit} must be at most 1 .*; .* {variable} raises the limit"):
        Hdf5Source(path, TRACE)
    monkeypatch.delenv(variable)
    assert Hdf5Source(path, TRACE).manifest.rows("warps") == 20


@pytest.mark.parametrize("megabytes", [300, 500, 900])
def test_little_address_space_is_one_error(path: Path, megabytes: int) -> None:
    """``ulimit -v`` bounds this process and the one that reads: whichever fails, one line says so."""
    code = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes} << 20,) * 2); import runpy, sys; "
    code += f"sys.argv = ['formats', 'check', {str(path)!r}]; "
    code += "runpy.run_module('rayplay.formats', run_name='__main__')"
    quiet = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(PACKAGES.parent)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | quiet)
    assert run.returncode in (0, 2)
    assert run.returncode == 0 or (run.stderr.count("\n") == 1 and "formats: error: " in run.stderr), run.stderr
