"""Against silicon: kernels captured and timed on a CUDA device, micro-benchmarks held against measured tables."""

LAYERS = (
    "plan",
    "instrument",
    "devices",
    "rebuild",
    "addresses",
    "capture",
    "timing",
    "suite",
    "assembled",
    "measure",
    "simulate",
    "correlate",
    "counters",
    "fit",
    "study",
)
"""Sub-packages and files in the order of the data flow: each imports only itself and earlier ones."""
