"""Traces of compute launches for the model error of launches without rays.

    python -m bench.accuracy.compute FOLDER
    python -m bench.accuracy.learn_model_errors FOLDER/*-compute.trace --seeds 3

Each is one launch of a shipped example, in a size of some hundred CTAs that a full replay takes seconds for.
"""

import argparse
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from rayplay.tracer.launch import run_launch_file

ROOT = Path(__file__).resolve().parents[2]


class Launch(NamedTuple):
    """A launch of an example in another size.

    file, entry  launch file below the repository, and the kernel's name.
    shapes       buffer -> its shape.
    grid         CTAs along x, y, z.
    values       position of a parameter -> its value.
    """

    file: str
    entry: str
    shapes: dict[str, list[int]]
    grid: list[int]
    values: dict[int, Any]


def square(names: str, side: int) -> dict[str, list[int]]:
    """The same square shape for several buffers."""
    return {name: [side, side] for name in names.split()}


LAUNCHES = {
    "gemm": Launch("tracer/kernels/matrix_multiply.toml", "matrix_multiply", square("left right product", 256),
                   [16, 16], {3: 256, 4: 256, 5: 256}),
    "matmul": Launch("silicon/kernels/textbook_512.toml", "matmul", square("left right product", 192), [12, 12],
                     {3: 192}),
    "transposed": Launch("silicon/kernels/textbook_512.toml", "add_column", square("a b c", 768), [48, 48], {3: 768}),
    "vectoradd": Launch("tracer/kernels/vector_add.toml", "vector_add",
                        {"left": [1 << 20], "right": [1 << 20], "sum": [1 << 20]}, [4096], {3: 1 << 20}),
    "reduction": Launch("tracer/kernels/reduction.toml", "reduction", {"values": [1 << 21], "partial": [512]}, [512],
                        {2: 1 << 21}),
    "stencil": Launch("tracer/kernels/stencil.toml", "stencil", square("even odd", 1024), [32, 128],
                      {2: 1024, 3: 1024}),
    "hotspot": Launch("examples/grids/hotspot.toml", "hotspot", square("power temperature half_way result", 480),
                      [40, 40], {3: 480, 4: 480}),
    "hotspot3d": Launch("examples/grids/hotspot_3d.toml", "hotspot_3d",
                        {name: [8, 256, 512] for name in ("power", "temperature", "result")}, [8, 64],
                        {3: 512, 4: 256, 5: 8}),
    "mandelbrot": Launch("examples/grids/mandelbrot.toml", "mandelbrot", {"rounds": [512, 512]}, [32, 32],
                         {1: 512, 4: 0.0049, 5: 128}),
    "spmv": Launch("examples/arrays/spmv.toml", "spmv_warp", {}, [1024], {}),
    "bitonic": Launch("examples/arrays/bitonic_sort.toml", "bitonic_sort", {"keys": [160, 512]}, [160], {}),
    "histogram": Launch("examples/arrays/histogram.toml", "histogram", {"values": [1 << 20]}, [256], {2: 1 << 20}),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", nargs="+", choices=LAUNCHES, default=list(LAUNCHES), metavar="NAME")
    arguments = parser.parse_args()
    for name in arguments.only:
        trace = arguments.folder / f"{name}-compute.trace"
        if not trace.exists():
            run_launch_file(write_launch(LAUNCHES[name], arguments.folder / name), trace)
        print(trace)


def write_launch(launch: Launch, folder: Path) -> Path:
    """Write the launch file and copy its program beside it; return the file."""
    source = ROOT / launch.file
    plan = tomllib.loads(source.read_text(encoding="utf-8"))
    one = next(found for found in plan["launch"] if found["entry"] == launch.entry)
    one = {key: value for key, value in one.items() if key != "repeat"} | {"grid": launch.grid}
    for place, value in launch.values.items():
        one["parameters"][place] |= {"value": value}
    for name, shape in launch.shapes.items():
        plan["buffers"][name] |= {"shape": shape}
    used = {parameter["buffer"] for parameter in one["parameters"] if "buffer" in parameter}
    lines = [f"program = {json.dumps(plan['program'])}"]
    for name, buffer in plan["buffers"].items():
        if name in used:
            lines += [f"[buffers.{name}]", *(f"{key} = {toml(value)}" for key, value in buffer.items())]
    lines += ["[[launch]]", *(f"{key} = {toml(value)}" for key, value in one.items())]
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source.parent / plan["program"], folder)
    file = folder / "launch.toml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def toml(value: Any) -> str:
    """A value on one line of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


if __name__ == "__main__":
    main()
