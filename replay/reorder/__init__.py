"""Threads dealt out to the warps of a window where they call ``optixReorder``, and the cost of it."""

LAYERS = {
    "spec": "its section of a GPU's description",
    "paths": "paths of threads, and the warps in which they run",
    "program": "instructions that a reorder adds",
    "rows": "accesses and rays of the new warps",
    "carry_out": "a trace with its reorders carried out",
}
