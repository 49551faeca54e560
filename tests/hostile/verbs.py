"""Cases, and the command lines of every verb by kind of input; valid files lie beside the hostile one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

FORMATS, REPLAY, ZATEL, RAYPLAY = "rayplay.formats", "rayplay.replay", "rayplay.zatel", "rayplay"
TRACER, PTX, HYPA = "rayplay.tracer", "rayplay.ptx", "rayplay.hypa"
FAST = "--gpu mobile --set sm.kernel_launch_cycles=10"
SMALL = "--size 32x4 --samples 1"
Verbs = dict[str, tuple[str, str]]


def _of_trace(name: str) -> Verbs:
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
        "page": (RAYPLAY, f"report good.result --trace {name} --out out.html"),
        "joules": (RAYPLAY, f"energy good.result --trace {name} --out out.energy"),
        "correlate": (RAYPLAY, f"correlate mobile --measured times.csv --trace {name}"),
    }


def _of_folder(name: str) -> Verbs:
    return {verb: (FORMATS, f"{verb} {name}") for verb in ("show", "check", "verify")}


def _of_gpu(name: str) -> Verbs:
    return {
        "explain": (RAYPLAY, f"gpu show {name}"),
        "replay": (REPLAY, f"plain.trace --gpu {name} --model pipeline --out out.result"),
        "predict": (ZATEL, f"predict good.trace --gpu {name} --workers 1 --factor 1 --out out.prediction"),
        "estimate": (ZATEL, f"estimate good.trace --gpu {name} --fraction 0.8 --out out.json"),
        "whatif": (ZATEL, f"whatif good.trace --gpu {name} --fraction 0.8 --change rt.warps*2 --out out.json"),
        "scale": (ZATEL, f"scale good.trace --gpu {name} --factor 1 --out out.json"),
        "correlate": (RAYPLAY, f"correlate {name} --measured times.csv --trace plain.trace"),
        "fit": (RAYPLAY, f"tuner fit --gpu {name} --out out.toml"),
    }


def _of_program(name: str) -> Verbs:
    return {verb: (PTX, f"{verb} {name}") for verb in ("parse", "print", "cfg", "characterise")}


VERBS: dict[str, Verbs] = {
    "trace": _of_trace("a.trace"),
    "hdf5": _of_trace("a.trace.h5"),
    "result": {
        **_of_folder("a.result"),
        "compare": (FORMATS, "compare a.result a.result"),
        "draw": (REPLAY, "a.result --picture out.png"),
        "heat": (RAYPLAY, "heat a.result --cost cycles --out out.png"),
        "page": (RAYPLAY, "report a.result --out out.html"),
        "noise": (RAYPLAY, "report good.result --noise a.result --out out.html"),
        "joules": (RAYPLAY, "energy a.result --out out.energy"),
    },
    "prediction": {
        **_of_folder("a.prediction"),
        "report": (ZATEL, "report a.prediction --out out.png"),
        "page": (RAYPLAY, "report good.result --prediction a.prediction --out out.html"),
    },
    "forecast": {"page": (RAYPLAY, "report good.result --prediction a.json --out out.html")},
    "changes": {"page": (RAYPLAY, "report good.result --study a.json --out out.html")},
    "film": {"page": (RAYPLAY, "report --animation film --out out.html")},
    "energies": {
        "joules": (RAYPLAY, "energy good.result --table a.toml --out out.energy"),
        "replay": (REPLAY, f"good.trace {FAST} --energy a.toml --out out.result"),
    },
    "measured": {"correlate": (RAYPLAY, "correlate mobile --measured a.csv")},
    "timed": {"correlate": (RAYPLAY, "correlate mobile --measured a.csv --trace plain.trace")},
    "plugin": {
        "replay": (REPLAY, f"good.trace {FAST} --plugin a.py --out out.result"),
        "gpu": (RAYPLAY, "gpu show mobile --plugin a.py"),
    },
    "study": {**_of_folder("study"), "join": (ZATEL, "join study --out out")},
    "heatmap": {"predict": (ZATEL, "predict good.trace --gpu mobile --workers 1 --heatmap a.png --out out.prediction")},
    "tables": {"import": (FORMATS, "import tables --out out.trace")},
    "nsight": {"import": (FORMATS, "import a.csv --out out.result")},
    "listing": {"import": (FORMATS, "import kernelslist.g --out out.trace")},
    "stream": {"import": (FORMATS, "import app.traceg --out out.trace")},
    "dump": {"import": (FORMATS, "import a.txt --out out.trace")},
    "pixels": {
        "filter": (ZATEL, "filter good.trace --pixels a.pixels --out out.trace"),
        "select": (FORMATS, "select good.trace --pixels a.pixels --out out.trace"),
        "render": (TRACER, "render cornell --size 40x6 --samples 1 --pixels a.pixels --out out.trace"),
    },
    **{
        kind: {
            "render": (TRACER, f"render a.{kind} {SMALL} --out out.trace"),
            "trace": (RAYPLAY, f"trace a.{kind} {SMALL} --out out.trace"),
            "draw": (RAYPLAY, f"draw a.{kind} --size 32x4 --out out.trace"),
            "scene": (RAYPLAY, f"scene a.{kind} --out out.html"),
            "animate": (RAYPLAY, f"animate a.{kind} --frames 1 --size 32x4 --gpu mobile --out out"),
            "choose": (RAYPLAY, f"tuner choose a.{kind} --device mobile --target-ms 1 --size 32x8"),
        }
        for kind in ("json", "glb", "gltf", "obj", "ply", "stl")
    },
    "data": {
        "scenes": (RAYPLAY, "scenes"),
        "trace": (RAYPLAY, f"trace a {SMALL} --out out.trace"),
        "render": (TRACER, f"render a {SMALL} --out out.trace"),
        "doctor": (RAYPLAY, "doctor"),
    },
    "shader": {
        "render": (TRACER, f"render cornell {SMALL} --program a.ptx --out out.trace"),
        "inject": (PTX, "inject a.ptx --out out.ptx"),
    },
    "launch": {
        "launch": (TRACER, "launch a.toml --out out.trace"),
        "trace": (RAYPLAY, "trace a.toml --out out.trace"),
        "static": (PTX, "analyse a.ptx --launch a.toml --static --out out.profile"),
        "analyse": (HYPA, "analyse a.ptx --launch a.toml --out out.profile"),
        "capture": (RAYPLAY, "capture a.toml --device executor --out out.trace"),
        "time": (RAYPLAY, "time a.toml --out out.csv"),
    },
    "ptx": {
        **_of_program("a.ptx"),
        "launch": (TRACER, "launch a.toml --out out.trace"),
        "capture": (RAYPLAY, "capture a.toml --device executor --out out.trace"),
    },
    "sass": _of_program("a.sass"),
    "network": {"network": (HYPA, "network a.toml --out out"), "trace": (RAYPLAY, "trace a.toml --out out")},
    "gpu": {**_of_gpu("a.toml"), "new": (RAYPLAY, "gpu new out.toml --base a.toml")},
    "device": {"choose": (RAYPLAY, "tuner choose cornell --device a.toml --target-ms 1 --size 32x8 --most-rays 2")},
    "path": {
        "animate": (RAYPLAY, "animate cornell --path a.json --frames 2 --size 32x4 --gpu mobile --out out"),
        "run": (
            RAYPLAY,
            "tuner run cornell --path a.json --gpu mobile --target-ms 1 --frames 2 --size 32x8 --out o.csv",
        ),
    },
    "shaders": {"draw": (RAYPLAY, "draw cornell --shaders a.toml --size 32x4 --out out.trace")},
    "config": _of_gpu("gpgpusim.config"),
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
    given   environment variables.
    """

    name: str
    kind: str
    make: Callable[[Path], object]
    says: str
    served: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    given: dict[str, str] = field(default_factory=dict)
