"""Cases, and the command lines of every verb by kind of input; valid files lie beside the hostile one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FORMATS, REPLAY, ZATEL, RAYPLAY = "rayplay.formats", "rayplay.replay", "rayplay.zatel", "rayplay"
FAST = "--gpu mobile --set sm.kernel_launch_cycles=10"


def _of_trace(name: str) -> dict[str, tuple[str, str]]:
    other = "out.trace.h5" if name.endswith(".trace") else "out.trace"
    return {
        "show": (FORMATS, f"show {name}"),
        "check": (FORMATS, f"check {name}"),
        "verify": (FORMATS, f"verify {name}"),
        "stats": (FORMATS, f"stats {name}"),
        "diff": (FORMATS, f"diff {name} good.trace"),
        "convert": (FORMATS, f"convert {name} {other}"),
        "copy": (FORMATS, f"convert {name} copy.trace"),
        "select": (FORMATS, f"select {name} --warps 0 --out out.trace"),
        "merge": (FORMATS, f"merge {name} plain.trace --out out.trace"),
        "export": (FORMATS, f"export {name} --out out"),
        "filter": (ZATEL, f"filter {name} --pixels some.pixels --out out.trace"),
        "replay": (REPLAY, f"{name} {FAST} --model pipeline --out out.result"),
        "gatsim": (REPLAY, f"{name} {FAST} --model gatsim --set gatsim.record_cycles=100 --out out.result"),
        "predict": (ZATEL, f"predict {name} --gpu mobile --workers 1 --out out.prediction"),
        "estimate": (ZATEL, f"estimate {name} --gpu mobile --fraction 0.8 --out out.json"),
        "whatif": (ZATEL, f"whatif {name} --gpu mobile --fraction 0.8 --change rt.warps*2 --out out.json"),
        "scale": (ZATEL, f"scale {name} --gpu mobile --out out.json"),
        "heat": (RAYPLAY, f"heat {name} --out out.png"),
    }


VERBS: dict[str, dict[str, tuple[str, str]]] = {
    "trace": _of_trace("a.trace"),
    "hdf5": _of_trace("a.trace.h5"),
    "result": {
        "show": (FORMATS, "show a.result"),
        "check": (FORMATS, "check a.result"),
        "verify": (FORMATS, "verify a.result"),
        "compare": (FORMATS, "compare a.result a.result"),
        "draw": (REPLAY, "a.result --picture out.png"),
        "heat": (RAYPLAY, "heat a.result --cost cycles --out out.png"),
    },
    "prediction": {
        "show": (FORMATS, "show a.prediction"),
        "check": (FORMATS, "check a.prediction"),
        "verify": (FORMATS, "verify a.prediction"),
        "report": (ZATEL, "report a.prediction --out out.png"),
    },
    "tables": {"import": (FORMATS, "import tables --out out.trace")},
    "nsight": {"import": (FORMATS, "import a.csv --out out.result")},
    "listing": {"import": (FORMATS, "import kernelslist.g --out out.trace")},
    "dump": {"import": (FORMATS, "import a.txt --out out.trace")},
    "pixels": {
        "filter": (ZATEL, "filter good.trace --pixels a.pixels --out out.trace"),
        "select": (FORMATS, "select good.trace --pixels a.pixels --out out.trace"),
    },
}
"""Kind of input -> name of a verb -> module and arguments."""


@dataclass(frozen=True)
class Case:
    """A hostile input.

    kind    of ``VERBS``.
    make    writes the input into a folder, under the name that the verbs of its kind take.
    says    regular expression found in what every verb that refuses it says.
    served  verbs that may also serve it, because they do not read the hostile part; all others must refuse it.
    verbs   the verbs to run; empty: all of its kind.
    """

    name: str
    kind: str
    make: Callable[[Path], object]
    says: str
    served: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
