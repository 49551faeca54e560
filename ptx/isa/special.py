"""The special registers: each name with its bits, and which have components. Source: PTX ISA 9.0, 10."""

VECTORS = dict.fromkeys(("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid",
                         "%cluster_nctaid"), 32)  # fmt: skip
"""Registers that are read by component, ``.x`` to ``.z``."""
WIDTHS = VECTORS | {
    **dict.fromkeys(("%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid"), 32), "%gridid": 64,
    "%cluster_ctarank": 32, "%cluster_nctarank": 32, "%is_explicit_cluster": 1,
    **{f"%lanemask_{order}": 32 for order in ("eq", "le", "lt", "ge", "gt")},
    "%clock": 32, "%clock_hi": 32, "%clock64": 64,
    "%globaltimer": 64, "%globaltimer_lo": 32, "%globaltimer_hi": 32,
    "%dynamic_smem_size": 32, "%total_smem_size": 32, "%aggr_smem_size": 32, "%current_graph_exec": 64,
    **{f"%reserved_smem_offset_{word}": 32 for word in ("begin", "end", "cap", 0, 1)},
    **{f"%envreg{number}": 32 for number in range(32)},
    **{f"%pm{number}": 32 for number in range(8)}, **{f"%pm{number}_64": 64 for number in range(8)},
}  # fmt: skip
"""Bits of every special register; of a vector, of a component."""
SPECIAL = frozenset(WIDTHS)
