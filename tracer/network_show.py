"""The profile of a network as text, beside the rows that HyPA's paper has for it; and its files."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from formats.arrow import parquet_options, to_arrow
from formats.atomic import atomic_file
from formats.network_profile import NETWORK_PROFILE
from tracer.network_profile import branch_efficiency

Columns = Mapping[str, np.ndarray]
PAPER = Path(__file__).with_name("hypa_table_2.csv")
COUNTS = (
    "threads", "static_instructions", "dynamic_instructions", "executed_instructions", "flops", "branches",
    "divergent_branches", "cta_branches", "cta_divergent_branches", "duration_ms",
)  # fmt: skip
COMPARED = ("executed", "instructions", "static", "ratio", "warp instructions", "FLOPs", "eta warp", "eta CTA", "s")


def paper_row(name: str) -> dict[str, str] | None:
    """The row of HyPA's Table II for a network (``mobilenet_v2`` is its ``MobileNetV2``); None without one."""
    lines = [line for line in PAPER.read_text().splitlines() if not line.startswith("#")]
    rows = {row["cnn"].lower(): row for row in csv.DictReader(lines)}
    return rows.get(name.lower().replace("_", "").replace("-", ""))


def write_profile(columns: Columns, folder: Path, name: str) -> tuple[Path, Path]:
    """Write the table as NAME.csv and NAME.parquet into ``folder``; returns their paths."""
    text, binary = folder / f"{name}.csv", folder / f"{name}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(text) as partial, partial.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    with atomic_file(binary) as partial:
        table = to_arrow(NETWORK_PROFILE, dict(columns))
        pq.write_table(table, partial, **parquet_options(NETWORK_PROFILE))
    return text, binary


def profile_lines(columns: Columns) -> Iterator[str]:
    """The launches, and their sums by kernel and over all."""
    heads = ("layer", "kernel", "grid", "block")
    cells = [
        (
            str(columns["layer"][row]),
            str(columns["kernel"][row]),
            *("x".join(str(columns[f"{kind}_{axis}"][row]) for axis in "xyz") for kind in ("grid", "block")),
        )
        for row in range(len(columns["layer"]))
    ]
    widths = [max(len(row[k]) for row in (heads, *cells)) for k in range(len(heads))]
    yield "      " + _named(heads, widths) + _HEAD
    for row, cell in enumerate(cells):
        same = int(columns["same_as"][row])
        duration = f"{columns['duration_ms'][row]:>8.1f}" if same == row else f"{f'= {same}':>8}"
        yield f"{row:>4}  " + _named(cell, widths) + _figures({key: columns[key][row] for key in COUNTS}) + duration
    yield ""
    kernels, number = np.unique(columns["kernel"], return_inverse=True)
    for index, kernel in enumerate([*kernels, f"{len(cells)} launches"]):
        rows = number == index if index < len(kernels) else np.ones(len(cells), bool)
        label = (
            (f"{np.count_nonzero(rows)} x", str(kernel), "", "") if index < len(kernels) else ("all", kernel, "", "")
        )
        sums = {key: columns[key][rows].sum() for key in COUNTS}
        yield "      " + _named(label, widths) + _figures(sums) + f"{sums['duration_ms']:>8.1f}"


_HEAD = (
    f"{'threads':>11}{'instructions':>16}{'executed':>9}{'FLOPs':>16}{'branches':>12}{'divergent':>10}"
    f"{'eta warp':>10}{'eta CTA':>10}{'ms':>8}"
)


def _named(cells: tuple[str, ...], widths: list[int]) -> str:
    return "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=True))


def _figures(of: Mapping[str, float]) -> str:
    warp = branch_efficiency(int(of["branches"]), int(of["divergent_branches"]))
    cta = branch_efficiency(int(of["cta_branches"]), int(of["cta_divergent_branches"]))
    return (
        f"{of['threads']:>11,}{of['dynamic_instructions']:>16,}"
        f"{of['executed_instructions'] / of['dynamic_instructions']:>9.2%}{of['flops']:>16,}{of['branches']:>12,}"
        f"{of['divergent_branches']:>10,}{warp:>9.4f}%{cta:>9.4f}%"
    )


def comparison_lines(profiles: Mapping[str, Columns]) -> Iterator[str]:
    """Networks by name: their sums under the heads of the paper's Table II, and its rows for them."""
    rows = [("", *COMPARED)]
    for name, columns in profiles.items():
        rows.append((name, *_our_row(columns)))
        if paper := paper_row(name):
            count = {key: f"{int(paper[key]):,}" for key in paper if key.endswith(("instructions", "flops"))}
            rows.append((
                "  Table II: HyPA", f"{paper['executed_percent']}%", count["hypa_instructions"],
                count["static_instructions"], paper["ratio"], "", count["hypa_flops"], "",
                f"{paper['hypa_branch_efficiency_percent']}%", "",
            ))  # fmt: skip
            rows.append((
                "  Table II: nvprof on V100S", "", "", "", "", count["nvprof_instructions"], count["nvprof_flops"],
                f"{paper['nvprof_branch_efficiency_percent']}%", "", "",
            ))  # fmt: skip
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        others = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"{row[0]:<{widths[0]}}  {'  '.join(others)}".rstrip()


def _our_row(columns: Columns) -> tuple[str, ...]:
    of = {key: columns[key].sum() for key in (*COUNTS, "warp_instructions")}
    return (
        f"{of['executed_instructions'] / of['dynamic_instructions']:.2%}",
        f"{of['dynamic_instructions']:,}",
        f"{of['static_instructions']:,}",
        f"{of['dynamic_instructions'] / of['static_instructions']:.4f}",
        f"{of['warp_instructions']:,}",
        f"{of['flops']:,}",
        f"{branch_efficiency(int(of['branches']), int(of['divergent_branches'])):.4f}%",
        f"{branch_efficiency(int(of['cta_branches']), int(of['cta_divergent_branches'])):.4f}%",
        f"{of['duration_ms'] / 1e3:.2f}",
    )
