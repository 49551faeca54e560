"""Profile of a PTX program: the instructions that its launches execute, and their divergent branches.

``NAME.profile/`` holds the tables below as Parquet and a manifest, ``profile.csv`` (a row per launch with the 15
columns of HyPA, III-C, in its order) and ``host.json`` (times of the machine that analysed). These two files have the
durations in them and differ from run to run; all others are the same for the same inputs.
"""

# ruff: noqa: E501 - one column is one line
import csv
import io
import json
from pathlib import Path
from typing import Any

from rayplay.formats.dataset.writer import FolderWriter
from rayplay.formats.schema.column import STRING, Column, Format, Table
from rayplay.formats.schema.trace import OPERATION_CLASSES

_LANES = "Threads are lanes that are active when their warp issues the instruction, whatever its guard says."

LAUNCHES = Table(
    "launches", "launch", row_number="launch", columns=(
        Column("filename", STRING, "name", "PTX file."),
        Column("ptx_version", STRING, "name", "Its .version."),
        Column("ptx_target", STRING, "name", "Its .target."),
        Column("address_size", "uint8", "bits", "Its .address_size."),
        Column("file_instructions", "uint32", "count", "Instructions of the whole file."),
        Column("ctas", "uint64", "count", "CTAs of the launch."),
        Column("threads", "uint64", "count", "Threads of the launch."),
        Column("static_instructions", "uint64", "thread instructions", "What static analysis says: kernel_instructions times threads."),
        Column("dynamic_instructions", "uint64", "thread instructions", f"Instructions that threads execute. {_LANES}"),
        Column("fp_instructions", "uint64", "thread instructions", "dynamic_instructions that compute with floating-point numbers: of class fp16, fp32, fp64, sfu."),
        Column("executed_instructions", "uint64", "thread instructions", "dynamic_instructions that the analysis executed itself; 0 of static analysis."),
        Column("divergent_branches", "uint64", "count", "branches whose lanes go to more than one block, as nvprof counts."),
        Column("cta_divergent_branches", "uint64", "count", "cta_branches whose threads go to more than one block, as HyPA counts."),
        Column("branch_efficiency", "float64", "%", "HyPA's equation 4 per warp: 100 (branches - divergent_branches) / branches; 100 without branches, NaN of static analysis."),
        Column("launch", "uint32", "id", "Row number, in launch order.", sorted=True),
        Column("kernel", STRING, "name", "Entry that was launched."),
        Column("method", STRING, "name", "Part of the kernel that was executed to know it.", values=("slice", "full", "static")),
        Column("warps", "uint64", "count", "Warps of the launch."),
        Column("kernel_instructions", "uint32", "count", "Instructions of the kernel and of the functions it can call, each once."),
        Column("slice_instructions", "uint32", "count", "kernel_instructions that decide where threads go, the jumps included."),
        Column("warp_instructions", "uint64", "warp instructions", "Instructions that warps issue."),
        Column("executed_share", "float64", "1", "executed_instructions / dynamic_instructions."),
        Column("jumps", "uint64", "count", "Executions of bra and brx.idx by warps."),
        Column("branches", "uint64", "count", "jumps that lanes can leave to more than one block."),
        Column("cta_branches", "uint64", "count", "Executions of such jumps by CTAs: the n-th executions of a jump by the warps of a CTA are one."),
        Column("cta_branch_efficiency", "float64", "%", "HyPA's equation 4 per CTA; 100 without branches, NaN of static analysis."),
        Column("single_operations", "uint64", "count", "Floating-point operations in f32; a fused multiply-add is two, comparison and conversion none."),
        Column("double_operations", "uint64", "count", "Floating-point operations in f64."),
        Column("half_operations", "uint64", "count", "Floating-point operations in f16 and bf16; packed ones are two."),
        Column("matrix_operations", "uint64", "count", "Floating-point operations of matrix instructions."),
    ),
)  # fmt: skip

CLASSES = Table(
    "classes", "launch and operation class", columns=(
        Column("launch", "uint32", "id", "The launch.", sorted=True, points_to="launches"),
        Column("operation_class", STRING, "name", "What kind of work it is.", values=OPERATION_CLASSES),
        Column("thread_instructions", "uint64", "thread instructions", "Instructions of this class that threads execute."),
        Column("warp_instructions", "uint64", "warp instructions", "Instructions of this class that warps issue."),
    ),
)  # fmt: skip

JUMPS = Table(
    "jumps", "launch and instruction that threads can leave to more than one block", columns=(
        Column("launch", "uint32", "id", "The launch.", sorted=True, points_to="launches"),
        Column("function", STRING, "name", "Function it stands in."),
        Column("line", "uint32", "line", "Line of the file."),
        Column("text", STRING, "name", "The instruction as written, on one line."),
        Column("graph_instructions", "uint32", "count", "Instructions of its filtered dependency graph (HyPA, definition 2), it included."),
        Column("visits", "uint64", "count", "Executions by warps."),
        Column("divergent", "uint64", "count", "Executions whose lanes part; 0 for instructions other than bra and brx.idx."),
        Column("cta_visits", "uint64", "count", "Executions by CTAs; 0 for instructions other than bra and brx.idx."),
        Column("cta_divergent", "uint64", "count", "Executions by CTAs whose threads part."),
    ),
)  # fmt: skip

LAYERS = Table(
    "layers", "launch of a neural network", optional=True, columns=(
        Column("launch", "uint32", "id", "The launch.", sorted=True, points_to="launches"),
        Column("layer", STRING, "name", "Layer it belongs to."),
        Column("operation", STRING, "name", "What kind of layer that is."),
        Column("grid_x", "uint32", "count", "CTAs along x."),
        Column("grid_y", "uint32", "count", "CTAs along y."),
        Column("grid_z", "uint32", "count", "CTAs along z."),
        Column("block_x", "uint32", "count", "Threads of a CTA along x."),
        Column("block_y", "uint32", "count", "Threads of a CTA along y."),
        Column("block_z", "uint32", "count", "Threads of a CTA along z."),
        Column("same_as", "uint32", "id", "The first launch that equals this one in everything, whose profile this is; its own number if none does.", points_to="launches"),
    ),
)  # fmt: skip

PROFILE = Format("rayplay profile", (1, 0), (LAUNCHES, CLASSES, JUMPS, LAYERS))
PAPER_COLUMNS = (*(column.name for column in LAUNCHES.columns[:14]), "duration_ms")
"""The columns of the CSV of HyPA III-C, in its order."""

CSV, HOST = "profile.csv", "host.json"


def csv_text(columns: dict[str, Any], durations_ms: list[float]) -> str:
    """The launches with the paper's columns, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(PAPER_COLUMNS)
    for row, duration in enumerate(durations_ms):
        values = [columns[name][row] for name in PAPER_COLUMNS[:-1]]
        writer.writerow([f"{v:.6f}" if isinstance(v, float) else v for v in (*values, f"{duration:.3f}")])
    return text.getvalue()


class ProfileWriter(FolderWriter):
    """Writes a ``NAME.profile`` folder; use it in a ``with`` statement, and call ``launches`` once."""

    TIMES = frozenset({CSV, HOST})

    def __init__(self, path: Path | str, provenance: dict[str, Any] | None = None) -> None:
        super().__init__(path, PROFILE, provenance)

    def launches(self, columns: dict[str, Any], durations_ms: list[float]) -> None:
        """Write all rows of ``launches``, and the seconds of each analysis."""
        self.put("launches", columns)
        self.texts[CSV] = csv_text(columns, durations_ms)
        self.texts[HOST] = json.dumps({"durations_ms": [round(each, 3) for each in durations_ms]}, indent=1) + "\n"
