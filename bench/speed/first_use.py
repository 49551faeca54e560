"""Cost of the first use of each verb, which compiles: with an empty cache, and once more with the cache it left.

    python -m bench.speed.first_use [--only NAME ...] [--modules]

Every measurement is a process of its own. Seconds of the processor add up the process and the one that
compiles beside it; wall seconds mean what they should on two free cores alone. ``after`` is the model replayed next,
which finds the modules that the models share in the cache. Targets: 25 s of wall time for a replay, 3 s for an import.

``--modules`` shows instead what each module of the engine costs, compiled one after the other in this process.
"""

import argparse
import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("RAYPLAY_DATA", ROOT.parent / "shared"))
LISTING = DATA / "reference" / "accelsim" / "traces" / "simple-trace-example" / "kernelslist.g"
SAMPLE = ROOT / "traces" / "sample.trace"


@dataclass(frozen=True)
class Case:
    """A verb: its words, with ``{out}`` where it writes, and its target in seconds of wall time."""

    name: str
    words: tuple[str, ...]
    target: int | None = None


def replay(model: str) -> tuple[str, ...]:
    """Words that replay the sample trace."""
    return ("rayplay.replay", str(SAMPLE), "--gpu", "mobile", "--model", model, "--out", "{out}.result")


CASES = (
    Case("characterised", replay("characterised"), 25),
    Case("pipeline", replay("pipeline"), 25),
    Case("gatsim", replay("gatsim"), 25),
    Case("import", ("rayplay.formats", "import", str(LISTING), "--out", "{out}.trace"), 3),
    Case("render", ("rayplay.tracer", "render", "wknd", "--size", "32x32", "--out", "{out}.trace")),
)


def measure(words: tuple[str, ...], cache: Path, out: Path) -> tuple[float, float]:
    """Seconds of the processor and of the wall that a command takes."""
    environment = os.environ | {"RAYPLAY_CACHE": str(cache), "TQDM_DISABLE": "1"}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", *(word.format(out=out) for word in words)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begun
    return sum(after[:2]) - sum(before[:2]), wall


def show(case: Case) -> None:
    """One line for a case; for a model, a second one for the other model after it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, second = (measure(case.words, folder / "cache", folder / number) for number in ("first", "second"))
        goal = f" (target {case.target})" if case.target else ""
        print(
            f"{case.name:14} first {first[0]:5.1f} s of the processor, {first[1]:5.1f} s{goal}, "
            f"second {second[0]:4.1f} s, {second[1]:4.1f} s",
            flush=True,
        )
        if case.name in AFTER:
            busy, wall = measure(replay(AFTER[case.name]), folder / "cache", folder / "after")
            print(f"  after it {AFTER[case.name]:13} {busy:5.1f} s of the processor, {wall:5.1f} s", flush=True)


AFTER = {"characterised": "pipeline", "pipeline": "characterised"}


def show_modules() -> None:
    """Seconds of the processor for each module of both models' engines."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["RAYPLAY_CACHE"] = cache
        from numba import typeof

        from rayplay.formats.dataset.reader import open_trace
        from rayplay.replay.engine.machine import Machine
        from rayplay.replay.engine.quantum import compile_for, separate_calls
        from rayplay.replay.gpu.description import load
        from rayplay.replay.input.program import read_characterisation
        from rayplay.replay.jit.separate import compile_function

        gc.disable()
        trace = open_trace(SAMPLE)
        for model in ("characterised", "pipeline"):
            engine = Machine(trace, load("mobile"), read_characterisation(trace, None), model=model).engine()
            for function, given in separate_calls(typeof(engine)):
                begun = time.process_time()
                compile_function(function, given)
                name = f"{function.__module__.removeprefix('rayplay.')}.{function.__name__}"
                print(f"{model:14} {name:42} {time.process_time() - begun:5.1f} s", flush=True)
            begun = time.process_time()
            compile_for(engine)
            print(f"{model:14} {'all the rest':42} {time.process_time() - begun:5.1f} s", flush=True)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [case.name for case in CASES]
    parser.add_argument("--only", nargs="*", default=names, choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--modules", action="store_true", help="modules of the engine instead")
    arguments = parser.parse_args()
    if arguments.modules:
        show_modules()
        return
    for case in CASES:
        if case.name in arguments.only:
            show(case)


if __name__ == "__main__":
    main()
