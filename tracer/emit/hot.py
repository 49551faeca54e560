"""Which registers an LLVM function holds in registers, and which stay in the activation, where suspensions find them.

A value that crosses blocks in LLVM's registers costs compilation at every place where paths meet, and moves at every
suspension. That pays only where a warp goes round without a suspension.
"""

from typing import NamedTuple

from rayplay.ptx.flow.cfg import Cfg, branch_labels, ends_block, post_order
from rayplay.ptx.flow.liveness import Liveness
from rayplay.ptx.ir import Function


class Hot(NamedTuple):
    """Blocks on a cycle of control without a suspension, and the registers, as bits, that they read or write."""

    blocks: frozenset[int]
    registers: int


def hot_code(function: Function, cfg: Cfg, liveness: Liveness) -> Hot:
    """Where a warp goes round without a suspension."""
    bits = 0
    blocks = cycling_blocks([_runs_on_to(function, cfg, number) for number in range(len(cfg.blocks))])
    for number in blocks:
        block = cfg.blocks[number]
        for position in range(block.first, block.first + block.count):
            bits |= liveness.reads[position] | liveness.writes[position]
    return Hot(frozenset(blocks), bits)


def _runs_on_to(function: Function, cfg: Cfg, number: int) -> list[int]:
    """Blocks that follow one at once; a barrier, call or pause suspends the warp before what follows."""
    block = cfg.blocks[number]
    last = function.body[block.first + block.count - 1]
    suspends = ends_block(last) and not branch_labels(last, function) and last.opcode not in ("ret", "exit")
    return [] if suspends else list(block.successors)


def cycling_blocks(edges: list[list[int]]) -> list[int]:
    """Nodes of a graph that can be reached from themselves, ascending.

    Method: Kosaraju's two passes, Aho, Hopcroft, Ullman, "Data Structures and Algorithms", 6.7.
    """
    root = len(edges)
    before: list[list[int]] = [[] for _ in edges]
    for node, targets in enumerate(edges):
        for target in targets:
            before[target].append(node)
    seen: set[int] = set()
    found = []
    for start in reversed(post_order([*edges, list(range(root))], root)[:-1]):
        if start in seen:
            continue
        seen.add(start)
        component = [start]
        for node in component:
            fresh = [other for other in before[node] if other not in seen]
            seen.update(fresh)
            component += fresh
        if len(component) > 1 or start in edges[start]:
            found += component
    return sorted(found)
