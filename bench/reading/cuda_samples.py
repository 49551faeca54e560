"""CUDA programs of others: which compile, finish and pass their own checks through ``rayplay run``.

    python -m bench.reading.cuda_samples FOLDER [--include FOLDER ...] [--words FILE] [--only NAME ...]

Each .cu file in FOLDER is a program, and each folder below it that holds .cu files is one of all its .cu, .cpp and .c
files. NVIDIA's samples are such folders (``Samples/*/*``, ``--include Common``), so are HeCBench's (``src/*-cuda``);
Rodinia's include some .cu files from others and need those moved. ``--words`` names a file of lines "NAME WORD ...":
arguments, for programs that need some or are long; a folder's file ``flags`` holds options for nvcc. Programs run in
their folder. Prints a row of a Markdown table per program: whether nvcc compiles it (13, PTX of sm_75), exit code,
what it says of its own check, launches, thread instructions, and processor seconds of everything. nvcc is in the
wheels nvidia-cuda-nvcc, -runtime, -crt, nvidia-nvvm and -cuda-cccl.
"""

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

NVCC = ("nvcc", "-w", "-O2", "-std=c++17", "-arch=compute_75", "-code=compute_75", "-cudart", "shared")
VERDICT = re.compile(r"(\bpass(?:ed)?\b|\bsuccess|\bOK\b)|\bfail(?:ed|ure)?\b|\bmismatch|\bERROR!", re.IGNORECASE)
OURS = ("no trace:", "rayplay:")  # lines that are not the program's
WAIVED = 2  # the exit code of a sample that the device cannot run


def main() -> None:
    """Measure the programs of a folder."""
    top = argparse.ArgumentParser(
        "python -m bench.reading.cuda_samples",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("folder", type=Path, metavar="FOLDER")
    top.add_argument("--include", action="append", default=[], type=Path, metavar="FOLDER", help="of headers")
    top.add_argument("--words", type=Path, metavar="FILE", help='lines "NAME WORD ...": arguments of programs')
    top.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these programs alone")
    top.add_argument("--seconds", type=int, default=300, help="of wall time a program may take (default: 300)")
    options = top.parse_args()
    words = dict(_words(options.words.read_text())) if options.words else {}
    found = {n: s for n, s in programs(options.folder).items() if not options.only or n in options.only}
    print("| program | compiles | exit code | own check | launches | thread instructions | s |")
    print("|---|---|---|---|---|---|---|")
    finished = 0
    for name, sources in found.items():
        row, done = measure(name, sources, options.include, words.get(name, []), options.seconds)
        finished += done
        print(row, flush=True)
    print(f"\n{finished} of {len(found)} finish")


def programs(folder: Path) -> dict[str, list[Path]]:
    """The sources of each program, by name."""
    made = {each.stem: [each] for each in sorted(folder.glob("*.cu"))}
    for inner in sorted({each.parent for each in folder.rglob("*.cu")} - {folder}):
        made[inner.name] = [each for kind in ("cu", "cpp", "c") for each in sorted(inner.glob(f"*.{kind}"))]
    return made


def measure(name: str, sources: list[Path], include: list[Path], words: list[str], seconds: int) -> tuple[str, bool]:
    """The row of a program, and whether it finishes."""
    home, before = sources[0].parent.absolute(), _cpu()
    flags = (home / "flags").read_text().split() if (home / "flags").is_file() else []
    with tempfile.TemporaryDirectory() as folder:
        made, trace = Path(folder) / name, Path(folder) / "x.trace"
        headers = [f"-I{each.absolute()}" for each in (home, *include)]
        build = [*NVCC, *flags, *headers, *(str(each.absolute()) for each in sources), "-o", str(made), "-lpthread"]
        if subprocess.run(build, capture_output=True, check=False, cwd=folder).returncode:
            return f"| {name} | no | | | | | {_cpu() - before:.1f} |", False
        run = [sys.executable, "-m", "rayplay", "run", "--json", "--out", str(trace), str(made), *words]
        ended = run_group(run, home, seconds)
        if ended is None:
            return f"| {name} | yes | over {seconds} s | | | | {_cpu() - before:.1f} |", False
    returned, out, said = ended
    record = json.loads(out)[0] if out.strip() else {}
    launches, count = record.get("launches", 0), record.get("thread_instructions", 0)
    done = returned == 0 or (returned == WAIVED and bool(record))
    code = f"{returned}" if record else f"{returned}: {(said.strip().splitlines() or ['no output'])[-1]}"
    return f"| {name} | yes | {code} | {verdict(said)} | {launches} | {count:,} | {_cpu() - before:.1f} |", done


def run_group(command: list[str], home: Path, seconds: int) -> tuple[int, str, str] | None:
    """Exit code, output and error output of a command; None, and no process of its group is left, after ``seconds``."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, cwd=home, start_new_session=True) as process:
        try:
            out, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    return process.returncode, out.decode(errors="replace"), said.decode(errors="replace")


def verdict(said: str) -> str:
    """The result in the last line of a program that speaks of its own check."""
    lines = [line for line in said.splitlines() if not line.startswith(OURS)]
    found = [match for line in lines if (match := VERDICT.search(line))]
    if not found:
        return "none"
    return "passes" if found[-1][1] else "fails"


def _words(text: str) -> list[tuple[str, list[str]]]:
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [(name, rest) for name, *rest in lines]


def _cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    main()
