"""The measures of a profile by their definitions: dictionaries of threads, one visit after another."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from rayplay.ptx.program import Program

Visit = tuple[int, int, int]  # warp, block, mask; the visits of a warp in order

END = "end"


def is_conditional(program: Program, block: int) -> bool:
    """Whether a block ends in a jump with a choice."""
    number = max(k for k, base in enumerate(program.block_base) if base <= block)
    function, extent = program.functions[number], program.cfgs[number].blocks[block - program.block_base[number]]
    last = function.body[extent.first + extent.count - 1]
    return last.opcode in ("bra", "brx") and len(extent.successors) + extent.leaves > 1


def count(program: Program, visits: Iterable[Visit], warps_per_cta: int) -> dict[str, Counter]:
    """Per block: ``visits``, ``lanes``, ``divergent``, ``cta_branches``, ``cta_divergent``.

    Every thread keeps the list of its blocks (HyPA III-B); a warp's jump is divergent when the next blocks of its
    threads differ, the n-th executions of a jump by the warps of a CTA when the next blocks of their threads differ.
    """
    made: dict[str, Counter] = defaultdict(Counter)
    paths: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)  # thread -> (block, visit)
    times: Counter = Counter()
    execution: list[int] = []  # per visit how often its warp had visited the block before
    for number, (warp, block, mask) in enumerate(visits):
        execution.append(times[warp, block])
        times[warp, block] += 1
        made["visits"][block] += 1
        made["lanes"][block] += mask.bit_count()
        for lane in range(32):
            if mask >> lane & 1:
                paths[warp, lane].append((block, number))
    of_visit: dict[tuple[int, int], set[object]] = defaultdict(set)
    of_cta: dict[tuple[int, int, int], set[object]] = defaultdict(set)
    for (warp, _), path in paths.items():
        for (block, number), following in zip(path, [*(b for b, _ in path[1:]), END], strict=True):
            if is_conditional(program, block):
                of_visit[block, number].add(following)
                of_cta[warp // warps_per_cta, block, execution[number]].add(following)
    for (block, _), sides in of_visit.items():
        made["divergent"][block] += len(sides) > 1
    for (_, block, _), sides in of_cta.items():
        made["cta_branches"][block] += 1
        made["cta_divergent"][block] += len(sides) > 1
    return made
