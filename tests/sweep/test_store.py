"""The store: whole or nothing, damage seen, claims, differences, on a folder and on object stores."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.sweep.drive.run import How, run
from rayplay.sweep.plan.keys import key_of
from rayplay.sweep.space.file import given
from rayplay.sweep.space.points import space
from rayplay.sweep.store import medium as media
from rayplay.sweep.store.claims import Claims, Driver, living
from rayplay.sweep.store.entry import RESULT
from rayplay.sweep.store.store import Store
from tests.sweep.conftest import SAMPLE, tables

IDENTITY: dict[str, Any] = {"trace": "t", "engine": "e"}
KEY = key_of(IDENTITY)
METRICS: dict[str, float | None] = {"gpu_cycles": 100.0, "rt_efficiency": None}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A local S3 server."""
    pytest.importorskip("s3fs", reason="the extra s3 is not installed")
    from moto.server import ThreadedMotoServer

    found = ThreadedMotoServer("127.0.0.1", 0)
    found.start()
    host, port = found.get_host_and_port()
    yield f"http://{host}:{port}"
    found.stop()


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket of the server, which this process and its children reach by their environment."""
    import s3fs

    for name, value in (("ENDPOINT_URL", server), ("DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.setenv(f"AWS_{name}", "x")
    s3fs.S3FileSystem().makedirs("sweeps", exist_ok=True)
    return "s3://sweeps"


@pytest.fixture(params=["folder", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    place = {"folder": str(tmp_path / "store"), "memory": f"memory://{tmp_path.name}"}.get(request.param)
    return Store(place or f"{request.getfixturevalue('bucket')}/{tmp_path.name}")


def put(store: Store, **change: Any) -> Any:
    """Put the result of ``KEY``."""
    return store.put(KEY, IDENTITY, {"gpu": {}}, METRICS | change, {"cpu_seconds": 1.5})


def test_a_result_comes_back(store: Store) -> None:
    assert store.get(KEY) is None
    assert put(store).status == "done"
    entry = store.get(KEY)
    assert entry is not None
    assert entry.metrics == METRICS
    assert store.done() == {KEY}
    assert store.host(KEY) == {"cpu_seconds": 1.5}


def test_an_equal_second_run_is_harmless_and_another_is_a_bug(store: Store) -> None:
    put(store)
    before = store.medium.read(f"results/{KEY}/{RESULT}")
    assert put(store).status == "again"
    assert store.medium.names("differences") == []
    found = put(store, gpu_cycles=101.0)
    assert (found.status, KEY in found.reason) == ("different", True)
    assert store.medium.read(f"results/{KEY}/{RESULT}") == before
    assert len(store.medium.names("differences")) == 1


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other key"])
def test_a_damaged_result_is_no_result_and_is_made_again(store: Store, damage: str, capsys: Any) -> None:
    put(store)
    name = f"results/{KEY}/{RESULT}"
    content = store.medium.read(name) or b""
    changed = {
        "cut": content[:-40], "flip": content.replace(b"100.0", b"101.0"), "empty": b"",
        "other key": content.replace(b'"e"', b'"f"'),
    }[damage]  # fmt: skip
    store.medium.write(name, changed)
    assert store.get(KEY) is None
    assert "is made again" in capsys.readouterr().err
    assert put(store).status == "done"
    assert store.get(KEY) is not None


def test_one_of_two_drivers_gets_a_claim(store: Store) -> None:
    with Claims(store.medium) as one, Claims(store.medium, Driver("b", "elsewhere", 1, "1")) as other:
        assert one.take(KEY)
        assert not other.take(KEY)  # fresh heartbeat
        one.release(KEY)
        assert other.take(KEY)
        assert [driver["keys"] for driver in living(store.medium)] == [[KEY]]
    assert store.medium.names("claims") == []
    assert store.medium.names("drivers") == []


def test_a_stale_claim_is_taken_over(store: Store) -> None:
    with Claims(store.medium, Driver("gone", "elsewhere", 1, "1"), beat=1000) as gone:
        assert gone.take(KEY)
        with Claims(store.medium, stale=-1.0) as mine:
            assert mine.take(KEY)
            gone.release(KEY)  # it is not theirs any more
            assert store.medium.names("claims") == [KEY]


def test_a_claim_of_a_process_that_ended_on_this_machine_is_stale_at_once(store: Store) -> None:
    import socket

    dead = Driver("dead", socket.gethostname(), os.getpid(), "0")  # a number that is in use again
    with Claims(store.medium, dead) as theirs:
        assert theirs.take(KEY)
        with Claims(store.medium) as mine:
            assert mine.take(KEY)


def test_many_threads_get_each_claim_once(tmp_path: Path) -> None:
    medium = Store(str(tmp_path / "s")).medium
    got: list[str] = []
    drivers = [Claims(medium, Driver(str(n), f"host{n}", n, "1")) for n in range(6)]
    for each in drivers:
        medium.write(f"drivers/{each.driver.id}", b"{}")
    keys = [f"k{n}" for n in range(50)]
    threads = [
        threading.Thread(target=lambda one=each: got.extend(k for k in keys if one.take(k))) for each in drivers
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(keys)


def test_a_store_that_refuses_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "FIRST_WAIT_SECONDS", 0.0)
    store = Store("memory://refusing")
    calls: list[str] = []
    real = store.medium.fs.pipe_file  # type: ignore[attr-defined]

    def refusing(path: str, content: bytes, **more: Any) -> None:
        calls.append(path)
        if len(calls) < 3:
            raise TimeoutError("slow down")
        real(path, content, **more)

    monkeypatch.setattr(store.medium.fs, "pipe_file", refusing)  # type: ignore[attr-defined]
    store.medium.write("a", b"content")
    assert store.medium.read("a") == b"content"
    monkeypatch.setattr(store.medium.fs, "pipe_file", lambda *words, **more: 1 / 0)  # type: ignore[attr-defined]
    with pytest.raises(FormatError, match=r"memory://refusing/a: the store refuses: ZeroDivisionError"):
        store.medium.write("a", b"content")


def test_a_put_that_is_cut_off_leaves_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object store shows a result when its last object is there, and that is the one with the digest."""
    monkeypatch.setattr(media, "FIRST_WAIT_SECONDS", 0.0)
    store = Store("memory://cut-off")
    real = store.medium.fs.pipe_file  # type: ignore[attr-defined]

    def refusing(path: str, content: bytes, **more: Any) -> None:
        if path.endswith(RESULT):
            raise ConnectionError("gone")
        real(path, content, **more)

    with monkeypatch.context() as patch:
        patch.setattr(store.medium.fs, "pipe_file", refusing)  # type: ignore[attr-defined]
        with pytest.raises(FormatError):
            put(store)
    assert store.get(KEY) is None
    assert put(store).status == "done"


def test_a_read_only_store_and_a_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Exception, match="file: must be a folder"):
        Store(str(tmp_path / "file"))
    store = Store(str(tmp_path / "blocked"))
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "tmp").write_text("x")  # root writes into read-only folders
    with pytest.raises(OSError, match="blocked/tmp"):
        store.check_writable()


@pytest.mark.parametrize("kind", ["device", "pipe", "huge"])
def test_what_is_no_file_or_beyond_its_limit_is_not_read(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "plans" / "s.json"
    file.parent.mkdir()
    if kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        with file.open("wb") as opened:
            opened.truncate(1 << 33)
    with pytest.raises(UserError, match=r"s\.json: must (be a file, and is none|have at most)"):
        media.Folder(tmp_path).read("plans/s.json")


def test_results_are_json_that_anyone_reads(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s"))
    put(store)
    found = json.loads((tmp_path / "s" / "results" / KEY / RESULT).read_text())
    assert found["metrics"]["gpu_cycles"] == 100.0


def test_a_sweep_of_a_bucket_has_the_bytes_of_a_folder(bucket: str, tmp_path: Path) -> None:
    """Trace and results in the bucket, which worker processes reach by themselves."""
    import fsspec

    fsspec.filesystem("s3").put(str(SAMPLE), "sweeps/given/sample.trace", recursive=True)
    made = []
    for trace, place, how in (
        (f"{bucket}/given/sample.trace", f"{bucket}/run", How(workers=2)),
        (str(SAMPLE), str(tmp_path / "s"), How("inline")),
    ):
        found = run("study", space(given(tables(2) | {"traces": [trace]})), Store(place), how)
        assert found.plan.counts() == {"done": 2}, found.report.failed
        assert found.plan.store.medium.names("claims") == []
        made.append({key: found.plan.store.medium.read(f"results/{key}/{RESULT}") for key in found.plan.status})
    assert made[0] == made[1]
