"""From a program and a scene to a trace: acceleration structure, rays, and every warp's execution."""

COMPILED = ("native", "abi", "meaning", "memory", "bvh", "rays", "link", "units", "record", "warp", "emit", "lower")
TRANSLATING = ("native", "abi", "meaning", "memory", "link", "units", "emit", "lower")
# Sources that decide the machine code of the tracer's own functions, and of the programs it translates.
CODE = (*(f"tracer/{layer}" for layer in COMPILED), "ptx", "formats/schema")
TRANSLATION = (*(f"tracer/{layer}" for layer in TRANSLATING), "ptx")
