"""CUDA source of one kernel a function, and its PTX as nvcc makes it."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from rayplay import ptx
from rayplay.ptx.ir import Module
from tests.tracer.cuda_math.functions import FUNCTIONS, Function

NVCC = shutil.which("nvcc")
OPTIMISATIONS = {"default": (), "low": ("-Xcicc", "-O1"), "debug": ("-G",)}
NAMES = {"x": "T", "n": "int", "l": "long long"}
KERNEL = """extern "C" __global__ void {name}({parameters}) {{
    typedef {type} T; int i = blockIdx.x * blockDim.x + threadIdx.x;
    {reads}
    {body}
    {writes}
}}
"""


def kernel_name(function: Function, kind: str) -> str:
    """The entry of a function; ``kind`` is float or double."""
    return f"{kind}_{function.name}"


def source(kind: str) -> str:
    """A kernel for each function that has a form of this type: arguments in, then results, a pointer each."""
    return "".join(_kernel(f, kind) for f in kernels_of(kind))


def _kernel(function: Function, kind: str) -> str:
    types = {**NAMES, "x": kind}
    taken, given = list(zip("abcd", function.takes, strict=False)), list(enumerate(function.gives))
    parameters = [f"const {types[t]} *{a}_" for a, t in taken] + [f"{types[t]} *r{n}_" for n, t in given]
    body = function.call.replace("{f}", "f" if kind == "float" else "").replace("{p}", kind[0])
    return KERNEL.format(
        name=kernel_name(function, kind), type=kind, parameters=", ".join(parameters),
        reads=" ".join(f"{types[t]} {a} = {a}_[i];" for a, t in taken),
        body="".join(f"{types[t]} r{n}; " for n, t in given) + body,
        writes=" ".join(f"r{n}_[i] = r{n};" for n, _ in given),
    )  # fmt: skip


def compiled(kind: str, optimisation: str) -> Module:
    """The kernels of a type, compiled in a temporary folder (the text is NVIDIA's and stays nowhere) and parsed."""
    assert NVCC is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{kind}.cu")
        path.write_text(source(kind))
        command = [NVCC, "-ptx", "-arch=compute_75", *OPTIMISATIONS[optimisation], path.name, "-o", f"{kind}.ptx"]
        subprocess.run(command, cwd=folder, check=True)
        return ptx.parse_file(path.with_suffix(".ptx"))


def kernels_of(kind: str) -> tuple[Function, ...]:
    """The functions that have a form of this type."""
    return tuple(f for f in FUNCTIONS if f.bounds[kind == "double"] is not None)
