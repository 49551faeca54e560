"""Without a GPU or its package there is one line and exit code 2, and nothing is written."""

import sys
from pathlib import Path

import pytest

from rayplay.silicon.devices.cuda import Cuda

ROOT = Path(__file__).resolve().parents[2]
KERNEL = str(ROOT / "tracer" / "kernels" / "vector_add.toml")


def has_device() -> bool:
    try:
        Cuda()
    except Exception:
        return False
    return True


@pytest.mark.skipif(has_device(), reason="this machine has a CUDA device")
@pytest.mark.parametrize("verb", ["capture", "time"])
@pytest.mark.parametrize("package", [True, False])
def test_no_device(
    verb: str, package: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rayplay.formats.guard.command import run
    from rayplay.silicon.__main__ import main

    if not package:
        monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        run("silicon", lambda: main([verb, KERNEL]))
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert error.count("\n") == 1
    assert "no CUDA device" in error
    assert ("--device executor needs none" in error) == (verb == "capture"), "time has no such option"
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
