"""``python -m tests.tracer.cuda_math``: CUDA's math library on many inputs, against the interpreter and its bounds."""

import argparse
import sys
import time

from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.api import Device
from rayplay.tracer.native.cpu import LEVELS, level
from tests.tracer.cuda_math.compare import Outcome, compare
from tests.tracer.cuda_math.functions import Function
from tests.tracer.cuda_math.program import NVCC, OPTIMISATIONS, compiled, kernels_of


def main() -> int:
    """Print a line for each function; exit code 1 when one differs or is beyond its bound."""
    made = argparse.ArgumentParser("python -m tests.tracer.cuda_math", description=__doc__)
    made.add_argument("seed", type=int, nargs="?", default=1, help="decides the inputs (default: %(default)s)")
    made.add_argument(
        "count", type=int, nargs="?", default=10000, help="inputs of each function (default: %(default)s)"
    )
    made.add_argument("--type", choices=("float", "double"), help="only these functions (default: both)")
    made.add_argument("--optimisation", choices=OPTIMISATIONS, help="nvcc's (default: all, one after another)")
    arguments = made.parse_args()
    if NVCC is None:
        raise UserError("nvcc: CUDA's compiler is not on the path")
    processors = ("host", *(name for name in LEVELS if _can_run(name)))
    failed = 0
    for optimisation in [arguments.optimisation] if arguments.optimisation else OPTIMISATIONS:
        for kind in [arguments.type] if arguments.type else ("float", "double"):
            failed += _run(kind, optimisation, arguments.seed, arguments.count, processors)
    return int(failed > 0)


def _can_run(name: str) -> bool:
    try:
        return bool(level(name))
    except UserError:
        return False


def _run(kind: str, optimisation: str, seed: int, count: int, processors: tuple[str, ...]) -> int:
    """All functions of a type; how many fail."""
    start, failed, different = time.monotonic(), 0, 0
    functions, device = kernels_of(kind), Device(compiled(kind, optimisation))
    for function in functions:
        outcome = compare(device, function, kind, count, count, seed, processors)
        print(_line(function, kind, optimisation, outcome), flush=True)
        for text in outcome.outside[:5]:
            print(f"  {text}", file=sys.stderr)
        failed += not outcome.holds
        different += sum(outcome.different.values())
    print(f"{kind}, {optimisation}: {len(functions)} functions, {count} inputs each, on {', '.join(processors)}: "
          f"{different} differences from the interpreter, {failed} functions fail ({time.monotonic() - start:.0f} s)",
          flush=True)  # fmt: skip
    return failed


def _line(function: Function, kind: str, optimisation: str, outcome: Outcome) -> str:
    """The worst error beside its bound, and the differences from the interpreter on each processor."""
    bound = function.bounds[kind == "double"]
    assert bound is not None
    text = f"{kind}, {optimisation}: {function.name}: "
    if bound.ulps is None:
        text += "ulps not bounded"
    else:
        text += f"{outcome.worst} ulp (at most {'what the argument allows' if callable(bound.ulps) else bound.ulps})"
    if bound.absolute is not None:
        text += f", elsewhere {outcome.worst_absolute:.1e} absolute (at most {bound.absolute:.1e})"
    differences = ", ".join(f"{name} {number}" for name, number in outcome.different.items())
    return f"{text}; differences: {differences}" + ("; beyond its bound" if outcome.outside else "")


if __name__ == "__main__":
    run("tests.tracer.cuda_math", main)
