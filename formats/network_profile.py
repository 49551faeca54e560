"""HyPA's profile of a neural network: one row per launch of a kernel, as CSV and as Parquet."""

# ruff: noqa: E501 - one column is one line
from formats.column import STRING, Column, Table

NETWORK_PROFILE = Table(
    "network_profile", "launch", row_number="launch", columns=(
        Column("launch", "uint32", "id", "Row number, in the order of inference.", sorted=True),
        Column("layer", STRING, "name", "Layer the launch belongs to."),
        Column("operation", STRING, "name", "What kind of layer it is."),
        Column("kernel", STRING, "name", "Entry that was launched."),
        Column("grid_x", "uint32", "count", "CTAs along x."),
        Column("grid_y", "uint32", "count", "CTAs along y."),
        Column("grid_z", "uint32", "count", "CTAs along z."),
        Column("block_x", "uint32", "count", "Threads of a CTA along x."),
        Column("block_y", "uint32", "count", "Threads of a CTA along y."),
        Column("block_z", "uint32", "count", "Threads of a CTA along z."),
        Column("ctas", "uint64", "count", "CTAs."),
        Column("threads", "uint64", "count", "Threads."),
        Column("file_instructions", "uint32", "count", "Instructions of the kernel's text, each once."),
        Column("static_instructions", "uint64", "thread instructions", "What static analysis says: file_instructions times threads."),
        Column("dynamic_instructions", "uint64", "thread instructions", "Instructions that threads execute."),
        Column("warp_instructions", "uint64", "warp instructions", "Instructions that warps issue."),
        Column("fp_instructions", "uint64", "thread instructions", "Floating-point instructions among dynamic_instructions."),
        Column("flops", "uint64", "count", "Floating-point operations, a fused multiply-add is two."),
        Column("executed_instructions", "uint64", "thread instructions", "Instructions among dynamic_instructions that the analysis executes: the slice of all jumps."),
        Column("branches", "uint64", "count", "Executions by warps of jumps that lanes can leave to more than one block."),
        Column("divergent_branches", "uint64", "count", "Those among branches whose lanes part."),
        Column("branch_efficiency", "float64", "%", "100 (branches - divergent_branches) / branches, as nvprof counts; 100 without branches."),
        Column("cta_branches", "uint64", "count", "Executions of such jumps by CTAs, the n-th by each of its threads together."),
        Column("cta_divergent_branches", "uint64", "count", "Those among cta_branches whose threads part."),
        Column("cta_branch_efficiency", "float64", "%", "100 (cta_branches - cta_divergent_branches) / cta_branches, as HyPA counts; 100 without."),
        Column("same_as", "uint32", "id", "The first launch that is equal to this one in everything, whose profile this is; its own number if none is."),
        Column("duration_ms", "float64", "ms", "Time of the analysis on this machine; 0 where the profile is that of same_as."),
    ),
)  # fmt: skip
