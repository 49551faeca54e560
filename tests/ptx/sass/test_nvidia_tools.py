"""With NVIDIA's tools (nvcc; nvdisasm and cuobjdump, on the path or from their wheels): our kernels compiled afresh."""

import subprocess
from pathlib import Path

import pytest

from rayplay.ptx.flow.language import parse
from rayplay.ptx.ir import Module
from rayplay.ptx.sass.verify import verify
from rayplay.tracer import kernels
from tests.ptx.sass.oracle import (
    find_tool,
    graph_differences,
    live_differences,
    mark_differences,
    read_graphs,
    read_live,
)

OWN = Path(__file__).parents[1] / "data" / "sass" / "kernels.cu"
CASES = [
    *((OWN, architecture) for architecture in (75, 86, 90)),
    *((source, 86) for source in sorted(Path(kernels.__file__).parent.glob("*.cu"))),
]
NVCC, NVDISASM, CUOBJDUMP = map(find_tool, ("nvcc", "nvdisasm", "cuobjdump"))

pytestmark = pytest.mark.skipif(
    not (NVCC and NVDISASM and CUOBJDUMP), reason="nvcc, nvdisasm or cuobjdump is not installed"
)


def output(*command: object) -> str:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("source", "architecture"), CASES, ids=lambda value: getattr(value, "stem", value))
def test_compiled_kernels(source, architecture, tmp_path) -> None:
    cubin = tmp_path / "k.cubin"
    output(NVCC, f"-arch=sm_{architecture}", "-O3", "-lineinfo", "-cubin", "-o", cubin, source)
    module = parse(output(NVDISASM, "-c", "-hex", cubin), "k")
    assert not verify(module)
    assert graph_differences(module, read_graphs(output(NVDISASM, "-bbcfg", cubin))) == []
    marks = read_live(output(NVDISASM, "-c", "-plr", "-lrm", "narrow", cubin))
    assert mark_differences(module, marks)[1] == []
    assert live_differences(module, marks)[1:] == ([], [])
    for options in (["-c"], [], ["-hex"], ["-g", "-c"], ["-c", "-plr"]):
        other = parse(output(NVDISASM, *options, cubin), "k")
        assert shape(other) == shape(module)
    dumped = parse(output(CUOBJDUMP, "-sass", cubin), "k")
    assert sorted(encodings(dumped)) == sorted(encodings(module))


def shape(module: Module) -> dict[str, tuple[object, ...]]:
    return {
        name: (tuple((i.address, i.text) for i in f.body), f.labels, f.branch_targets, f.is_entry)
        for name, f in module.functions.items()
    }


def encodings(module: Module) -> list[int]:
    return [i.encoding or 0 for f in module.functions.values() for i in f.body]
