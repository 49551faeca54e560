"""Notes make programs longer by no more than was measured for other schemes (docs/sources/measurements.md)."""

import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rayplay.ptx.ir import Module
from rayplay.ptx.text.printer import print_module
from rayplay.silicon.instrument import RECORD, instrument
from rayplay.silicon.plan import plan_launch
from rayplay.tracer.launch import prepare
from rayplay.tracer.link.link import link_launch

ROOT = Path(__file__).resolve().parents[2]
MOST = {"graphs/bfs_step": 2.60, "graphs/pathfinder": 1.55, "grids/mandelbrot": 1.47}
"""Machine instructions with notes of blocks and addresses, of those without: per-thread scheme, ptxas 13.0, sm_80."""
INSTRUCTION_BYTES = 16


def instructions(module: Module, folder: Path) -> int:
    """Machine instructions of a module, which must need no spills."""
    source, target = folder / "x.ptx", folder / "x.cubin"
    source.write_text(print_module(module))
    made = subprocess.run(
        ["ptxas", "-arch=sm_80", "-v", str(source), "-o", str(target)], capture_output=True, text=True, check=True
    )
    assert set(re.findall(r"(\d+) bytes spill stores", made.stderr)) == {"0"}
    data = target.read_bytes()
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * k) for k in range(count)]
    texts = [s for s in sections if data[sections[names][4] + s[0] :].startswith(b".text")]
    return sum(s[5] for s in texts) // INSTRUCTION_BYTES


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not here")
@pytest.mark.parametrize("name", MOST)
def test_code_growth(name: str, tmp_path: Path) -> None:
    prepared = prepare(ROOT / "examples" / f"{name}.toml")
    before = after = 0
    seen: set[str] = set()
    for each in prepared.plan.launch:
        if each.entry in seen:
            continue
        seen.add(each.entry)
        launch = prepared.bind(each)
        linked = link_launch(((launch.module, launch.module.functions[each.entry]),), prepared.memory, {})
        functions = {f.function.name: f.function for f in linked.functions}
        before += instructions(replace(launch.module, functions=functions), tmp_path)
        after += instructions(instrument(linked, plan_launch(linked), launch, RECORD).module, tmp_path)
    assert before < after <= MOST[name] * before
