"""The verbs: what each does in a line, what it teaches, and examples that work in any folder."""

from typing import NamedTuple

TRACE_TEXT = """\
Trace a subject: a scene is rendered with a ray-tracing program, a launch file of compute kernels is launched, and a
network is profiled layer by layer. The first word decides: a name from rayplay scenes, a kernel that comes with the
package (breadth_first_search, matrix_multiply, reduction, stencil, vector_add), a scene file (.json, .glb, .obj, .ply),
or a TOML file. rayplay trace FILE.toml --help shows the options of a launch or a network.
"""
REPLAY_TEXT = """\
Replay traces on GPUs: cycles, caches, RT unit and DRAM. Prints what limits
the replay (--all: every metric) and writes results/TRACE-GPU.result with
counters, cycle stacks, timeline and the cost of each pixel. sample is a trace that comes with the package.
"""


class Verb(NamedTuple):
    """One verb.

    module       of ``rayplay.door``, whose ``parser`` makes its parser.
    summary      a line for the overview.
    description  what its help begins with.
    examples     command lines that work, in this order, in an empty folder.
    """

    module: str
    summary: str
    description: str
    examples: tuple[str, ...]


VERBS = {
    "demo": Verb("demo", "from nothing to a replayed trace and its pictures", (
        "Trace a small scene, replay it on an RTX 2060, draw where its cycles go and what each pixel costs. Each step "
        "is printed as the command that does it alone. Compiling once takes most of the first run's minute."
    ), ("rayplay demo",)),
    "doctor": Verb("doctor", "check this installation", (
        "Check Python, packages, caches, machine code, data folder and disk, a line each. Exit code 1 when something "
        "is wrong; a package of another version than the tested one is only noted."
    ), ("rayplay doctor",)),
    "trace": Verb("trace", "a scene, a compute kernel or a network to a trace", TRACE_TEXT, (
        "rayplay trace cornell --size 64x64 --samples 1", "rayplay trace vector_add",
    )),
    "run": Verb("packaged", "a CUDA program, unmodified, to its results and a trace", (
        "Run a CUDA program as it is: its host code runs, with a runtime library of ours in place of CUDA's, and its "
        "kernels are executed and recorded. Build it with nvcc -cudart shared: rayplay run ./a.out 1024. The trace has "
        "every launch, with its stream; the exit code is the program's. Needs a C compiler (docs/programs/cuda.md)."
    ), ()),
    "draw": Verb("packaged", "a scene, rasterised, to a trace", (
        "Rasterise a scene: vertex shader, triangles, early depth test and fragment shader of each draw. Writes the "
        "picture, and a trace with a launch for each stage of each draw. A glTF file brings its textures."
    ), ("rayplay draw cornell --size 64x64",)),
    "shader": Verb("packaged", "shaders in Slang, HLSL or of Vulkan-Sim, to PTX", (
        "Compile a file of Slang or HLSL, or lower a shader of Vulkan-Sim or a folder of them, and list their programs "
        "and parameters; --out FILE.ptx writes the programs. rayplay trace SCENE --program FILE runs them "
        "(docs/programs/shaders.md). Slang and HLSL need the packages of the extra slang."
    ), ()),
    "animate": Verb("packaged", "a scene in motion, traced and measured frame by frame", (
        "Trace a scene along a path into a folder of frames, and estimate or replay each on a GPU. frames.csv has a "
        "line a frame, strip.png shows them. The same command goes on where a run was interrupted."
    ), ("rayplay animate cornell --frames 2 --size 32x24 --out walk",)),
    "scenes": Verb("packaged", "list the scenes", (
        "List the scenes that rayplay trace knows by name: procedural ones, and the scene packs of the data folder "
        "(RAYPLAY_DATA)."
    ), ("rayplay scenes --csv",)),
    "scene": Verb("scene", "the acceleration structure of a scene as a page", (
        "Build the acceleration structure that rayplay trace builds, and write a page: its boxes by depth, seen from "
        "the scene's camera, surface-area cost, overlap and depth. With --trace also which records the rays fetched."
    ), ("rayplay scene cornell", "rayplay trace cornell --size 64x64 --samples 1 --out c.trace",
        "rayplay scene cornell --trace c.trace --json")),
    "replay": Verb("replay", "traces on GPUs to cycles and metrics", REPLAY_TEXT, (
        "rayplay replay sample --gpu rtx2060,mobile", "rayplay replay sample --gpu mobile --set rt.warps=1 --json",
    )),
    "gpu list": Verb("gpu", "list the GPUs that come with the package", (
        "List the GPUs that come with the package. rayplay gpu show GPU prints every value with unit, meaning and "
        "source; rayplay gpu new NAME.toml writes a description to change."
    ), ("rayplay gpu list",)),
    "gpu show": Verb("gpu", "every value of a GPU with unit, meaning and source", (
        "Print every value of a GPU with its unit, its meaning and where it comes from, then what follows from them."
    ), ("rayplay gpu show mobile --set rt.warps=8",)),
    "gpu new": Verb("gpu", "write a description of a GPU", (
        "Write the description of a GPU with values changed. It keeps the comments of the GPU it begins with, and is "
        "written only if every law of a description holds."
    ), ("rayplay gpu new big.toml --base mobile --set sm.count=16 --set rt.warps=8", "rayplay gpu show big.toml")),
    "gpu check": Verb("gpu", "is a description complete and lawful?", (
        "Read a description, check every law, and name its own values that have no source beside them."
    ), ("rayplay gpu new big.toml --base mobile --set rt.warps=8", "rayplay gpu check big.toml")),
    "gpu fit": Verb("gpu", "a description fitted to a card's measured latencies", (
        "Fit values of a GPU, within bounds, to measured latencies: least squares over replays of micro-benchmarks. "
        "Prints what moved and what stays unexplained. Rows that only check (docs/hardware.md) are never read."
    ), ("rayplay gpu fit published --card 'RTX 2070' --like rtx2060",)),
    "show": Verb("packaged", "the contents of a trace, result, prediction or profile", (
        "Print the columns with units and meaning, the rows and bytes, and the first rows of each table; of a result, "
        "every metric with its definition."
    ), ("rayplay show sample --rows 2",)),
    "report": Verb("report", "a result as a page to look at and to send", (
        "Write one HTML page that needs nothing but a browser: what limits the replay, cycle stack, units, timeline, "
        "cost of each pixel, memory, rays, SMs, waits at each instruction, launches, configuration, every counter. "
        "Further results are compared with it; --animation shows the frames of rayplay animate as a film strip."
    ), ("rayplay replay sample --quiet", "rayplay report sample-rtx2060 --trace sample --out report.html")),
    "heat": Verb("heat", "the cost of each pixel as a picture", (
        "Draw the cost of each pixel: the work that a trace records, or the cycles, rays and BVH records of a result. "
        "Dark blue costs nothing, dark magenta costs most."
    ), ("rayplay heat sample", "rayplay heat sample --cost work --out heat.png --json")),
    "energy": Verb("energy", "joules by unit and over time; is one replay cheaper?", (
        "Count the energy of results by a table of coefficients: by unit, over time, per ray and pixel, constant, "
        "static and dynamic apart. Writes NAME.energy beside each. Of several results each is compared with the last: "
        "does the sign of the difference survive the range of the RT units?"
    ), ("rayplay replay sample --gpu mobile,rtx2060 --quiet", "rayplay energy sample-mobile",
        "rayplay energy sample-mobile sample-rtx2060 --json")),
    "compare": Verb("packaged", "metrics of two results side by side", (
        "Print each metric that two results share, and how far the first is from the second: in percent, shares in "
        "percentage points."
    ), ("rayplay replay sample --gpu mobile,rtx2060 --quiet", "rayplay compare sample-mobile sample-rtx2060")),
    "whatif": Verb("packaged", "what changes of a GPU do, beside the noise floor", (
        "Replay the same sample of an image on changed designs, and on the unchanged GPU with a latency off by a cycle "
        "or two: a change below what such a trifle does says nothing. A change is KEY=VALUE, KEY*N or KEY/N with the "
        "keys of rayplay gpu show GPU; without any, a list of twelve."
    ), ("rayplay whatif sample --gpu mobile --change 'rt.warps*2' --fraction 0.5",)),
    "estimate": Verb("packaged", "the metrics from a sample, with intervals", (
        "Estimate the metrics of a replay from a stratified sample of its CTAs, with a 95 % interval on each. "
        "--target-error 2% adds samples until the interval of the cycles is as tight as that."
    ), ("rayplay estimate sample --gpu mobile --fraction 0.5",)),
    "predict": Verb("packaged", "the metrics from a part of the pixels (Zatel)", (
        "Predict the seven metrics of Zatel's Table I as the paper does: the image is divided into K groups, a part of "
        "each is replayed on a GPU K times smaller. Writes results/TRACE-GPU.prediction with pictures and tables."
    ), ("rayplay predict sample --gpu mobile --fraction 0.5",)),
    "scale": Verb("packaged", "one GPU predicted from machines of other sizes", (
        "Predict a GPU from machines with 1/K of its SMs and memory controllers, which replay 1/K of the CTAs, or from "
        "one of another GPU's size (--like)."
    ), ("rayplay scale sample --gpu mobile --factor 2 --factor 4",)),
    "paper": Verb("packaged", "the paper's studies: tables, figures, findings", (
        "Do Zatel's evaluation on traces, one a scene: Figures 10 to 20 and Table III. The folder holds README.md (the "
        "paper's findings and ours), tables, figures and every prediction as Parquet. The store keeps replays: the "
        "same command goes on where it was interrupted."
    ), ("rayplay paper sample --quick --only regression --out study --store replays --estimate",)),
    "data check": Verb("packaged", "verify the laws of a file", (
        "Verify the SHA-256 of every file and every law of the tables (docs/formats.md lists them). Exit code 0 when "
        "all hold, 1 when one is broken, 2 when a file cannot be read."
    ), ("rayplay data check sample",)),
    "data verify": Verb("packaged", "is every byte as it was written?", (
        "Read every byte once and compare digests and checksums. Exit code 2 when something is damaged."
    ), ("rayplay data verify sample",)),
    "data stats": Verb("packaged", "what a trace costs and does", (
        "Print bytes on disk per warp instruction, block visit, lane address and ray; the instruction mix; active "
        "lanes; different sectors and BVH records that were touched."
    ), ("rayplay data stats sample",)),
    "data convert": Verb("packaged", "Parquet to HDF5 or back", (
        "Write the same tables to OUT: an HDF5 file when its name ends in .h5 or .hdf5, else a folder of Parquet files."
    ), ("rayplay data convert sample copy.trace.h5",)),
    "data select": Verb("packaged", "a part of a trace", (
        "Write the part of a trace that is in all the given sets (numbers and ranges such as 0,4-7). --pixels removes "
        "lanes instead, as if the program had been run with filter_shader."
    ), ("rayplay data select sample --ctas 0,4-7 --out part.trace",)),
    "data merge": Verb("packaged", "traces as the streams of one", (
        "Write one trace with the launches of all, each trace in streams of its own. Addresses stay as they are."
    ), ("rayplay trace vector_add", "rayplay data merge sample vector_add --out both.trace")),
    "data diff": Verb("packaged", "the first difference of two files", (
        "Print for each table the first row and column whose values differ. Exit code 0 when all are equal, 1 if not."
    ), ("rayplay data diff sample sample",)),
    "data import": Verb("packaged", "traces captured elsewhere to one of ours", (
        "Write a trace or a result from files captured elsewhere: kernelslist.g of Accel-Sim's tracer, NAME.txt of "
        "Vulkan-Sim's RT unit, FILE.csv of Nsight Compute, or a folder of your own tables (docs/formats.md)."
    ), (
        "rayplay trace vector_add", "rayplay data export vector_add --out vectoradd",
        "rayplay data import vectoradd/kernelslist.g --out back.trace",
    )),
    "data export": Verb("packaged", "a trace to Accel-Sim's files", (
        "Write a trace without rays as files that Accel-Sim reads: kernelslist.g and one kernel-N.traceg a launch."
    ), ("rayplay trace vector_add", "rayplay data export vector_add --out vectoradd")),
    "ptx parse": Verb("packaged", "what a module declares, and its problems", (
        "Parse a PTX file or a SASS listing, print what it declares, and name every problem with line and column."
    ), ("rayplay ptx parse reduction",)),
    "ptx print": Verb("packaged", "the structure as text again", (
        "Print the parsed structure as text again."
    ), ("rayplay ptx print reduction",)),
    "ptx cfg": Verb("packaged", "control flow and reconvergence", (
        "Print the basic blocks of each function, their successors, and where diverged lanes reconverge."
    ), ("rayplay ptx cfg reduction",)),
    "ptx characterise": Verb("packaged", "when a warp may issue: unit, stalls, slots", (
        "Print per instruction its unit, its stall and initiation cycles, the scoreboard slot that it sets and those "
        "that it waits for."
    ), ("rayplay ptx characterise reduction --pipeline rtx2060",)),
    "ptx inject": Verb("packaged", "a program with Zatel's filter_shader", (
        "Print a ray-tracing program with Zatel's filter_shader in front of its ray generation program."
    ), ("rayplay ptx inject path-tracing",)),
    "ptx analyse": Verb("packaged", "HyPA's profile of a kernel, exact", (
        "Count what the launches of a kernel execute: instructions by class, branches, divergence. Only the slice runs "
        "that decides where threads go; a full execution gives the same counts."
    ), ("rayplay ptx analyse reduction --launch reduction",)),
    "tuner fit": Verb("packaged", "the analytical model's device of a GPU", (
        "Fit the parameters of Ganestam and Doggett's model to a GPU: probe programs run through its replay. Prints "
        "the device, the latencies of L1, L2 and DRAM, and how far each measurement is off a line."
    ), (
        "rayplay tuner fit --gpu mobile --out mobile-device.toml",
        "rayplay tuner choose cornell --device mobile-device.toml --target-ms 1",
    )),
    "tuner choose": Verb("packaged", "the rays that meet a target", (
        "Predict the time of a frame for every number of occlusion rays from a look at an eighth of its size, and mark "
        "the number that meets the target."
    ), ("rayplay tuner choose cornell --device geforce-580 --target-ms 10",)),
    "tuner run": Verb("packaged", "an animation whose frames meet a target", (
        "Render an animation on a simulated GPU. Each frame the controller chooses the occlusion rays, the replay says "
        "how long the frame took, and its prediction is corrected."
    ), ("rayplay tuner run cornell --gpu mobile --frames 3 --size 32x24 --target-ms 0.05 --out frames.csv",)),
    "sweep new": Verb("packaged", "an example of a sweep file", (
        "Write a sweep file to change: traces, GPUs, axes of values, the comparison wanted. docs/sweep.md explains it."
    ), ("rayplay sweep new study.toml",)),
    "sweep plan": Verb("packaged", "the points of a sweep, and why each would run", (
        "List the points of a sweep file with keys, why each would run, and an estimate of time, memory and disk. "
        "Nothing is run."
    ), ("rayplay sweep new study.toml", "rayplay sweep plan study.toml")),
    "sweep run": Verb("packaged", "run the points that have no result", (
        "Run every point of a sweep file that has no complete result, each in a process of its own. The same command "
        "goes on where an earlier run ended, however that was; several runs, on several machines, may share a store. "
        "A point that fails is reported with its log, and the others run on: exit code 1."
    ), ("rayplay sweep new study.toml", "rayplay sweep run study.toml")),
    "sweep status": Verb("packaged", "what is done, failed, running and missing", (
        "Say from the store alone what of a sweep is done, failed, running and missing. Exit code 1 unless all is done."
    ), ("rayplay sweep new study.toml", "rayplay sweep run study.toml --quiet", "rayplay sweep status study.toml")),
    "sweep collect": Verb("packaged", "one table with every parameter and metric", (
        "Write one Parquet table with every parameter and metric of every point. Points without a result stand in it, "
        "with their status and the reason."
    ), ("rayplay sweep new study.toml", "rayplay sweep run study.toml --quiet", "rayplay sweep collect study.toml")),
    "sweep report": Verb("packaged", "the comparison as a page: front, effects, noise", (
        "Write one HTML page of a sweep: what is missing, the Pareto front, effects of parameters and their "
        "interactions, the noise floor, every design and point."
    ), ("rayplay sweep new study.toml", "rayplay sweep run study.toml --quiet", "rayplay sweep report study.toml")),
    "sweep prune": Verb("packaged", "remove results that no sweep needs", (
        "Say which results of a store no sweep file asks for, and what killed runs left; with --remove, remove it."
    ), ("rayplay sweep new study.toml", "rayplay sweep run study.toml --quiet", "rayplay sweep prune study.toml")),
    "capture": Verb("packaged", "a compute kernel, run on a GPU of yours, to a trace", (
        "Run the kernels of a launch file on a CUDA device and write the trace that rayplay trace would write. Threads "
        "note their path and addresses; their warps are rebuilt. Without a GPU, --device executor runs the same "
        "instrumented program on the tracer's executor."
    ), ("rayplay capture vector_add --device executor",)),
    "time": Verb("packaged", "kernel times and micro-benchmarks on a GPU of yours", (
        "Time the kernels of a launch file on a CUDA device, with empty caches and with warm ones; rayplay time suite "
        "measures latencies and bandwidths instead. Writes a CSV file with card, driver, clocks, date and command. "
        "Needs a GPU and the package cuda-bindings."
    ), ()),
    "correlate": Verb("packaged", "a GPU description beside measurements of a card", (
        "Compare a GPU description with measured latencies, bandwidths or kernel times, row by row: what was measured, "
        "what the description makes of it, the error; then mean, weighted and logarithmic figures. MEASURED.csv has "
        "the columns gpu,quantity,value,unit, such as rayplay time suite writes for a card of yours; with --trace it "
        "has kernel times of rayplay time, or counters of Nsight Compute (ncu --csv). docs/hardware.md explains all."
    ), ("rayplay correlate card-t1000 --measured published --card T1000",)),
    "completion": Verb("completion", "completion for bash, zsh or fish", (
        "Print what a shell needs to complete verbs, options, and names of traces, GPUs and scenes."
    ), ("rayplay completion bash",)),
}  # fmt: skip

GROUPS = {
    "begin": ("demo", "doctor", "completion"),
    "trace": ("trace", "run", "draw", "shader", "animate", "scenes", "scene"),
    "replay": ("replay",),
    "gpu": tuple(verb for verb in VERBS if verb.startswith("gpu ")),
    "look": ("report", "show", "heat", "energy", "compare"),
    "silicon": ("capture", "time", "correlate"),
    "predict": ("whatif", "estimate", "predict", "scale", "paper"),
    "sweep": tuple(verb for verb in VERBS if verb.startswith("sweep ")),
    "tuner": tuple(verb for verb in VERBS if verb.startswith("tuner ")),
    "data": tuple(verb for verb in VERBS if verb.startswith("data ")),
    "ptx": tuple(verb for verb in VERBS if verb.startswith("ptx ")),
}
FAMILIES = {
    "silicon": "against a GPU of yours",
    "gpu": "descriptions of GPUs: list, show, new, check, fit",
    "data": "files: check, convert, cut, join, exchange",
    "ptx": "programs: PTX text and SASS listings",
    "sweep": "many points: a design study",
    "tuner": "frames that meet a target",
}


def overview(family: str | None = None) -> str:
    """The verbs by group, a line each; of one family alone where it is given."""
    lines = ["Rayplay: a trace-driven simulator of ray tracing on GPUs.", "", "usage: rayplay VERB [--help] ...", ""]
    for group, verbs in GROUPS.items():
        if family in (None, group):
            lines.append(FAMILIES.get(group, group))
            lines += [f"  {verb:<18}{VERBS[verb].summary}" for verb in verbs]
            lines.append("")
    every = "Every verb takes --help (with an example), --json, --csv, --quiet and --version."
    return "\n".join([*lines, every])
