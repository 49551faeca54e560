"""Layers of the replay in the order of the data flow, and the sources that decide machine code and results."""

from rayplay.formats.guard.code_cache import FILES

# Folders and files in the order of the data flow: each imports only itself and earlier ones.
LAYERS = {
    "layers": "this list",
    "jit": "how the engine becomes machine code",
    "unit": "what every unit is made of: descriptions, clocks, counters, the cycle stack",
    "input": "the trace as the engine reads it: a window of coalesced warps",
    "memory": "from the SM's port through crossbar and L2 to DRAM and back; L1 and texture cache",
    "lsu": "the load/store unit of an SM",
    "rt": "the ray-tracing units of an SM",
    "sm": "CTAs, warps and schedulers: the models of an SM",
    "plugin": "policies from outside: a file that replaces hooks of the units",
    "reorder": "threads dealt out to the warps of a window",
    "gpu": "descriptions of whole GPUs",
    "sharing": "partitions of the GPU among classes of work",
    "launch": "kernels, in the order and on the streams of the trace",
    "engine": "the machine, quantum by quantum",
    "results": "counters to metrics and tables",
    "stuck": "who waits for whom when nothing moves",
    "timeline": "a replay watched, and its events as a file for Perfetto",
    "run": "the loop from launch to result, checkpoints and progress",
    "testing": "laws that every policy must keep",
    "geometry": "what models outside the engine may know of a GPU",
    "verdict": "what limits a replay, in words and six numbers",
    "terminal": "the same in the lines that a replay prints",
    "picture": "a result as a picture",
    "energy": "counters and a table of coefficients to joules and power over time",
    "arguments": "the command line",
    "page": "this page",
}
COMPILED = ("jit", "unit", "input", "memory", "lsu", "rt", "sm", "plugin", "engine")
# Sources that decide the engine's machine code, and sources that decide a replay's result.
ENGINE = (*(f"replay/{layer}" for layer in COMPILED), "formats/schema")
RESULTS = (
    *(f"replay/{layer}" for layer in (*COMPILED, "reorder", "gpu", "sharing", "launch", "results", "run")),
    *FILES,
)
