"""From a program and a scene to a trace: acceleration structure, rays, and every warp's execution."""

from rayplay.formats.guard.code_cache import use_numba_cache

use_numba_cache("tracer")

LAYERS = (
    "programs", "kernels", "native", "abi", "meaning", "memory", "scenes", "bvh", "rays", "link", "units", "record",
    "warp", "emit", "lower", "interp", "run", "api", "shading", "launchfile", "render", "launch",
)  # fmt: skip
"""Sub-packages and files in the order of the data flow: each imports only itself and earlier ones."""
