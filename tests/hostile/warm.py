"""A warm interpreter: it has loaded the packages, runs none of their code, and forks for each command line.

``python -m tests.hostile.warm`` reads a JSON object a line (``folder``, ``module``, ``arguments``, ``given``: variables
of the environment) and answers each with one (``code``, ``cpu_seconds``, ``peak_bytes``, ``out``, ``err``). A fork is
ended when it has more than ``MOST_BYTES`` resident, and cannot map more than ``MAPPED_BYTES``.
"""

import contextlib
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

MOST_BYTES, CPU_SECONDS, WALL_SECONDS = 1_500_000_000, 30, 180
MAPPED_BYTES = 64_000_000_000  # compiling and device memory map much that they never touch
ROOT = Path(__file__).resolve().parents[2]
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SHOWN_BYTES = 20_000


class Warm:
    """The warm interpreter as its user sees it."""

    def __init__(self) -> None:
        quiet = {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2", "TQDM_DISABLE": "1", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile.warm"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | quiet, cwd=ROOT,
        )  # fmt: skip

    def run(self, folder: Path, module: str, arguments: list[str], given: dict[str, str]) -> dict[str, Any]:
        """Run the command line of a module in ``folder``, with these variables of the environment."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"folder": str(folder), "module": module, "arguments": arguments, "given": given}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def serve() -> None:
    """Answer until standard input ends."""
    import rayplay.door.main
    import rayplay.formats.__main__
    import rayplay.formats.exchange.accelsim.importer
    import rayplay.formats.hdf5.source
    import rayplay.formats.look.records
    import rayplay.hypa.__main__
    import rayplay.ptx.__main__
    import rayplay.replay.__main__
    import rayplay.replay.run.driver
    import rayplay.tracer.__main__
    import rayplay.zatel.__main__  # noqa: F401

    for name in [name for name in sys.modules if name.endswith(".__main__")]:
        del sys.modules[name]  # which each run loads for itself
    for line in sys.stdin:
        print(json.dumps(one(json.loads(line))), flush=True)


def one(request: dict[str, Any]) -> dict[str, Any]:
    """Run a command line in a fork, and wait for it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _work(request, out.fileno(), err.fileno())
        code, usage = _wait(child)
        texts = {}
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            texts[name] = file.read(SHOWN_BYTES).decode(errors="replace")
    return {
        "code": code, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss * 1024, **texts,
    }  # fmt: skip


def _work(request: dict[str, Any], out: int, err: int) -> NoReturn:
    code: Any = 70
    try:
        os.setsid()
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(request["folder"])
        os.environ |= request["given"]
        resource.setrlimit(resource.RLIMIT_AS, (MAPPED_BYTES, MAPPED_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
        sys.argv = [request["module"], *request["arguments"]]
        try:
            runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
            code = 1
        import atexit

        atexit._run_exitfuncs()
        sys.stdout.flush()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _wait(child: int) -> tuple[int, Any]:
    """Exit code (below 0: of a signal) and resources of a fork, which is ended when it takes too long."""
    end = time.monotonic() + WALL_SECONDS
    while True:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), usage
        if time.monotonic() > end or _resident(child) > MOST_BYTES:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.01)


def _resident(process: int) -> int:
    """Resident bytes of a process; 0 when it has gone."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    serve()
