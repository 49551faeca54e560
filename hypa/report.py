"""A profile as files and as text: the tables of ``formats.dataset.profile``, and what a person wants to see first."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.profile import CLASSES, JUMPS, LAUNCHES, LAYERS, ProfileWriter
from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.column import STRING, Table
from rayplay.formats.schema.trace import OPERATION_CLASSES
from rayplay.hypa.session import FileProfile, LaunchProfile, profile_file
from rayplay.hypa.slicing.flops import PRECISIONS, class_numbers
from rayplay.hypa.visits import VisitCounts
from rayplay.tracer.launch import TOOL_VERSION

Row = dict[str, Any]
SHOWN_LAUNCHES = 24


def branch_efficiency(branches: int, divergent: int) -> float:
    """HyPA's equation 4, in percent; 100 without branches."""
    return 100.0 * (branches - divergent) / branches if branches else 100.0


def analyse_file(program: Path, launch: Path, method: str, kernel: str | None, check: bool, out: Path) -> str:
    """The verb ``analyse``: profile, write ``out``, and return the text for the terminal.

    Raises ``UserError`` as ``profile_file`` does, and when ``check`` finds that full execution counts otherwise.
    """
    profile = profile_file(program, launch, method, kernel)
    text = profile_text(profile)
    if check:
        text += "\n" + compare(profile, profile_file(program, launch, "full", kernel))
    write_profile(profile, out)
    return f"{text}\n{out}: {', '.join(sorted(file.name for file in out.iterdir()))}"


def compare(sliced: FileProfile, full: FileProfile) -> str:
    """A line that both executions count the same; ``UserError`` naming the first launch and measure that differ."""
    for number, (one, other) in enumerate(zip(sliced.launches, full.launches, strict=True)):
        for field in fields(VisitCounts):
            ours, theirs = getattr(one.profile.visits, field.name), getattr(other.profile.visits, field.name)
            if not np.array_equal(ours, theirs):
                raise UserError(
                    f"{sliced.launch_path}: launch {number} ({one.profile.kernel}): {field.name} of the slice must be "
                    f"{int(theirs.sum())} as in full execution, found {int(ours.sum())}: a pointer leaves its buffer?"
                )
    times = [sum(launch.profile.seconds for launch in each.launches) for each in (sliced, full)]
    return f"full execution counts the same: {1e3 * times[1]:.1f} ms, the slice {1e3 * times[0]:.1f} ms"


def write_profile(
    profile: FileProfile, out: Path, layers: list[Row] | None = None, command: str = "ptx analyse"
) -> None:
    """Write ``NAME.profile``: the tables, ``profile.csv`` with the paper's columns, and ``host.json``.

    layers   rows of the table of that name, for the launches of a neural network.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    inputs = {path.name: file_digest(path) for path in (profile.program_path, profile.launch_path)}
    made_by = {"command": command, "tool_version": TOOL_VERSION, "method": profile.method, "inputs": inputs}
    with ProfileWriter(out, made_by) as writer:
        writer.launches(launch_columns(profile), [1e3 * launch.profile.seconds for launch in profile.launches])
        for table, rows in ((CLASSES, _class_rows), (JUMPS, _jump_rows)):
            made = [row for number, launch in enumerate(profile.launches) for row in rows(number, launch)]
            writer.put(table.name, _columns(table, made))
        if layers is not None:
            writer.put(LAYERS.name, _columns(LAYERS, layers))


def launch_columns(profile: FileProfile) -> dict[str, np.ndarray]:
    """The table ``launches`` of ``formats.dataset.profile``."""
    return _columns(LAUNCHES, [_launch_row(profile, k) for k in range(len(profile.launches))])


def _columns(table: Table, rows: list[Row]) -> dict[str, np.ndarray]:
    return {
        column.name: np.array([row[column.name] for row in rows], object if column.dtype == STRING else column.dtype)
        for column in table.columns
    }


def _launch_row(profile: FileProfile, number: int) -> Row:
    module, p = profile.module, profile.launches[number].profile
    is_static = profile.method == "static"
    efficiencies = (
        branch_efficiency(p.conditional_branches, p.divergent_branches),
        branch_efficiency(p.cta_branches, p.cta_divergent_branches),
    )
    warp, cta = (float("nan"), float("nan")) if is_static else efficiencies
    return {
        "filename": profile.program_path.name,
        "ptx_version": ".".join(map(str, module.version)),
        "ptx_target": ", ".join(module.target),
        "address_size": module.address_size,
        "file_instructions": sum(len(function.body) for function in module.functions.values()),
        "ctas": p.ctas,
        "threads": p.threads,
        "static_instructions": p.static_instructions * p.threads,
        "dynamic_instructions": p.dynamic_instructions,
        "fp_instructions": p.fp_instructions,
        "executed_instructions": p.executed_instructions,
        "divergent_branches": p.divergent_branches,
        "cta_divergent_branches": p.cta_divergent_branches,
        "branch_efficiency": warp,
        "launch": number,
        "kernel": p.kernel,
        "method": profile.method,
        "warps": p.warps,
        "kernel_instructions": p.static_instructions,
        "slice_instructions": int(profile.launches[number].cut.kept.sum()),
        "warp_instructions": p.warp_instructions,
        "executed_share": p.executed_instructions / p.dynamic_instructions if p.dynamic_instructions else 0.0,
        "jumps": p.branches,
        "branches": p.conditional_branches,
        "cta_branches": p.cta_branches,
        "cta_branch_efficiency": cta,
        **{f"{name}_operations": int(count) for name, count in zip(PRECISIONS, p.operations, strict=True)},
    }


def _class_rows(number: int, launch: LaunchProfile) -> list[Row]:
    p = launch.profile
    sizes = [block.count for cfg in launch.program.cfgs for block in cfg.blocks]
    warps = np.zeros(len(OPERATION_CLASSES), np.int64)
    np.add.at(warps, class_numbers(launch.program), np.repeat(p.visits.visits, sizes))
    return [
        {"launch": number, "operation_class": name, "thread_instructions": threads, "warp_instructions": issued}
        for name, threads, issued in zip(OPERATION_CLASSES, p.instructions_by_class, warps, strict=True)
        if issued
    ]


def _jump_rows(number: int, launch: LaunchProfile) -> list[Row]:
    program, visits = launch.program, launch.profile.visits
    blocks = [block for cfg in program.cfgs for block in cfg.blocks]
    block_of = np.repeat(np.arange(len(blocks)), [block.count for block in blocks])
    rows = []
    for jump, size in zip(launch.cut.jumps, launch.cut.graph_sizes, strict=True):
        owner = max(k for k, base in enumerate(program.instruction_base) if base <= jump)
        instruction = program.functions[owner].body[jump - program.instruction_base[owner]]
        block = int(block_of[jump])
        rows.append({
            "launch": number, "function": program.functions[owner].name, "line": instruction.position.line,
            "text": instruction.text, "graph_instructions": size, "visits": visits.visits[block],
            "divergent": visits.divergent[block], "cta_visits": visits.cta_branches[block],
            "cta_divergent": visits.cta_divergent[block],
        })  # fmt: skip
    return rows


def profile_text(profile: FileProfile) -> str:
    """A table for the terminal: a line per launch, then all of them together."""
    head = (
        f"{'kernel':<28}{'threads':>11}{'instructions':>16}{'static':>16}{'executed':>10}{'slice':>10}"
        f"{'branches':>12}{'divergent':>11}{'warp %':>8}{'CTA %':>8}{'ms':>9}"
    )
    lines = [head]
    lines += [_line(launch, profile.method == "static") for launch in profile.launches[:SHOWN_LAUNCHES]]
    if len(profile.launches) > SHOWN_LAUNCHES:
        lines.append(f"and {len(profile.launches) - SHOWN_LAUNCHES} launches more")
    totals = [launch.profile for launch in profile.launches]
    dynamic = sum(p.dynamic_instructions for p in totals)
    executed = sum(p.executed_instructions for p in totals)
    operations = sum(int(p.operations.sum()) for p in totals)
    lines.append(
        f"{len(totals)} launches: {dynamic:,} thread instructions, {sum(p.warp_instructions for p in totals):,} warp "
        f"instructions, {operations:,} floating-point operations; {_share(executed, dynamic)} of them executed"
    )
    return "\n".join(lines)


def _line(launch: LaunchProfile, is_static: bool) -> str:
    p = launch.profile
    counts = (p.conditional_branches, p.divergent_branches), (p.cta_branches, p.cta_divergent_branches)
    warp, cta = ("-" if is_static else f"{branch_efficiency(*each):.2f}" for each in counts)
    name = p.kernel if len(p.kernel) <= 27 else p.kernel[:24] + "..."
    return (
        f"{name:<28}{p.threads:>11,}{p.dynamic_instructions:>16,}{p.static_instructions * p.threads:>16,}"
        f"{_share(p.executed_instructions, p.dynamic_instructions):>10}"
        f"{_share(int(launch.cut.kept.sum()), len(launch.cut.kept)):>10}{p.conditional_branches:>12,}"
        f"{'-' if is_static else f'{p.divergent_branches:,}':>11}{warp:>8}{cta:>8}{1e3 * p.seconds:>9.1f}"
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
