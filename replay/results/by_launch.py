"""Class and draw of each launch, and the texture lines that its CTAs read: tables to sum the counters by.

Source: ``docs/sources/crisp.md#statistics``.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.launch.classes import KINDS, WorkClass, kinds_of
from rayplay.replay.results.tables import Columns

LINE_SHIFT = 7  # bytes of a line: 128
NO_DRAW = -1


def launch_table(trace: Trace, kernel_ids: Sequence[int], classes: Sequence[WorkClass]) -> Columns:
    """Columns of the table ``launches``.

    kernel_ids  launches in the order in which they began; repeats are ahead by the trace's launches.
    classes     of work that share the GPU; none: the trace has it to itself.
    """
    numbers, count = np.array(kernel_ids, np.int64), trace.rows("kernels")
    own, stages, row = numbers % count, trace.read("stages"), np.full(count, NO_DRAW)
    row[stages["kernel_id"]] = np.arange(len(stages["kernel_id"]))
    owner, original = {kernel: each for each in classes for kernel in each.kernels}, np.arange(count)
    for each in classes:
        original[list(each.kernels)] = each.own_kernels

    def of_draw(name: str, empty: object) -> np.ndarray:
        return np.array([stages[name][found] if found >= 0 else empty for found in row[own]], object)

    names = [(owner[kernel].name, owner[kernel].trace.name) for kernel in own.tolist()] if classes else []
    return {
        "kernel_id": numbers.astype(np.int32),
        "class": np.array([name for name, _ in names] or [""] * len(own), object),
        "kind": np.array(KINDS, object)[kinds_of(trace)[own]],
        "stage": of_draw("stage", ""),
        "draw": of_draw("draw", NO_DRAW).astype(np.int32),
        "draw_name": of_draw("draw_name", ""),
        "repeat": (numbers // count).astype(np.uint32),
        "trace": np.array([file for _, file in names] or [trace.path.name] * len(own), object),
        "trace_kernel_id": original[own].astype(np.uint32),
    }


def texture_line_table(trace: Trace, kernel_ids: Sequence[int]) -> Columns:
    """Columns of the table ``texture_lines`` for launches whose programs have texture instructions."""
    instructions = trace.read("instructions", ["kernel_id", "operation_class"])
    is_texture = instructions["operation_class"] == "texture"
    launches = np.intersect1d(np.unique(instructions["kernel_id"][is_texture]), kernel_ids)
    warps = trace.read("warps", ["kernel_id", "cta_id"])
    kernel, cta = warps["kernel_id"].astype(np.int64), warps["cta_id"].astype(np.int64)
    begins = np.ones(len(kernel), bool)
    begins[1:] = (kernel[1:] != kernel[:-1]) | (cta[1:] != cta[:-1])
    number = np.cumsum(begins) - 1  # of each warp's CTA, over all launches
    lines = np.zeros(int(begins.sum()), np.int64)
    for ctas in read_lines(trace, is_texture, number) if len(launches) else ():
        lines += np.bincount(ctas, minlength=len(lines))
    rows: list[np.ndarray] = [np.zeros((0, 3), np.int64)]
    for launch in launches.tolist():
        found, ctas = np.unique(lines[kernel[begins] == launch], return_counts=True)
        rows.append(np.stack([np.full(len(found), launch), found, ctas], axis=1))
    launch, found, ctas = np.concatenate(rows).T
    return {"kernel_id": launch.astype(np.int32), "lines": found.astype(np.uint32), "ctas": ctas.astype(np.uint32)}


def read_lines(trace: Trace, is_texture: np.ndarray, number: np.ndarray) -> Iterator[np.ndarray]:
    """CTAs of the texture lines of a trace, a row for each different line of a CTA.

    is_texture  bool[instructions]; number: int64[warps], the CTA of each.
    """
    last, known = -1, np.zeros(0, np.int64)  # the CTA that the batch before ended in, and its lines
    for batch in trace.batches("accesses", ["warp_id", "instruction_id", "address"]):
        offset = batch["address_offset"].astype(np.int64)
        counts = offset[1:] - offset[:-1]
        counted = np.repeat(is_texture[batch["instruction_id"]], counts)
        ctas = np.repeat(number[batch["warp_id"]], counts)[counted]
        if not len(ctas):
            continue
        lines, line = np.unique(batch["address"][counted] >> np.uint64(LINE_SHIFT), return_inverse=True)
        lines = lines.astype(np.int64)
        ctas, line = np.divmod(np.unique(ctas * len(lines) + line), len(lines))
        again = int(np.isin(lines[line[ctas == last]], known).sum())  # its lines that were counted before
        yield ctas[again:]
        held = lines[line[ctas == ctas[-1]]]
        known = np.concatenate([known, held]) if ctas[-1] == last else held
        last = int(ctas[-1])
