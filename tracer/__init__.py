"""From a program and a scene to a trace: acceleration structure, rays, and every warp's execution."""

LAYERS = (
    "programs", "kernels", "native", "abi", "meaning", "memory", "scenes", "free_space", "motion", "bvh", "rays",
    "link", "units", "record", "warp", "emit", "lower", "interp", "raster", "run", "api", "launchfile", "shading",
    "vulkansim", "slang", "graphics", "render", "launch", "draw", "shader", "opcodes",
)  # fmt: skip
"""Sub-packages and files in the order of the data flow: each imports only itself and earlier ones."""
COMPILED = (
    "native", "abi", "meaning", "memory", "bvh", "rays", "link", "units", "record", "warp", "emit", "lower", "raster",
)  # fmt: skip
TRANSLATING = ("native", "abi", "meaning", "memory", "link", "units", "emit", "lower")
# Sources that decide the machine code of the tracer's own functions, and of the programs it translates.
CODE = (*(f"tracer/{layer}" for layer in COMPILED), "ptx", "formats/schema")
TRANSLATION = (*(f"tracer/{layer}" for layer in TRANSLATING), "ptx")
