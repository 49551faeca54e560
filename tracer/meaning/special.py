"""Values of the special registers: words of the machine, constants, clocks."""

LANE_MASKS = {
    "%lanemask_eq": lambda lane: 1 << lane, "%lanemask_lt": lambda lane: (1 << lane) - 1,
    "%lanemask_le": lambda lane: (2 << lane) - 1, "%lanemask_gt": lambda lane: (1 << 32) - (2 << lane),
    "%lanemask_ge": lambda lane: (1 << 32) - (1 << lane),
}  # fmt: skip
VECTORS = {"%ntid": "ntid", "%nctaid": "nctaid", "%ctaid": "ctaid", "%clusterid": "ctaid", "%nclusterid": "nctaid"}
UNIFORM = {(name, axis): f"{word}_{axis}" for name, word in VECTORS.items() for axis in "xyz"} | {
    ("%warpid", ""): "warp_in_cta", ("%nwarpid", ""): "warps_per_cta",
    ("%dynamic_smem_size", ""): "dynamic_shared_bytes", ("%total_smem_size", ""): "shared_bytes",
    ("%aggr_smem_size", ""): "shared_bytes", ("%envreg1", ""): "workspace_high", ("%envreg2", ""): "workspace_low",
}  # fmt: skip
"""Names and components that are words of the machine."""
CONSTANTS = {
    "%smid": 0, "%nsmid": 1, "%gridid": 0, "%is_explicit_cluster": 0, "%cluster_ctarank": 0, "%cluster_nctarank": 1,
    "%current_graph_exec": 0, **{f"%envreg{number}": 0 for number in range(32) if number not in (1, 2)},
    **{f"%pm{number}": 0 for number in range(8)}, **{f"%pm{number}_64": 0 for number in range(8)},
    **{f"%reserved_smem_offset_{word}": 0 for word in ("begin", "end", "cap", 0, 1)},
}  # fmt: skip
"""A cluster is one CTA, the GPU has one SM, nobody counts performance events."""
CONSTANT_VECTORS = {"%cluster_ctaid": 0, "%cluster_nctaid": 1}
HAVE_FOURTH = ("%tid", *VECTORS, *CONSTANT_VECTORS)
CLOCKS = ("%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi")
"""Clocks count the warp's block visits and the instructions of the block, so that runs repeat."""
TICKS_OF_BLOCK = 64  # between a block and the next one that the warp visits


def ticks_in_block(position: int) -> int:
    """Ticks between the first instruction of a block and the one at ``position``."""
    return min(position, TICKS_OF_BLOCK - 1)
