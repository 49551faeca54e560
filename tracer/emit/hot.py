"""Which registers an LLVM function holds in registers, and which stay in the activation, where suspensions find them.

A value that crosses blocks in LLVM's registers costs compilation at every place where paths meet, and moves at every
suspension. That pays only where a warp goes round without a suspension.
"""

from typing import NamedTuple

from rayplay.ptx.flow.cfg import branch_labels, ends_block
from rayplay.ptx.flow.liveness import Liveness
from rayplay.ptx.graph import Cfg, cycling
from rayplay.ptx.ir import Function


class Hot(NamedTuple):
    """Blocks on a cycle of control without a suspension, and the registers, as bits, that they read or write."""

    blocks: frozenset[int]
    registers: int


def hot_code(function: Function, cfg: Cfg, liveness: Liveness) -> Hot:
    """Blocks and registers of cycles without a suspension."""
    bits = 0
    blocks = cycling([_runs_on_to(function, cfg, number) for number in range(len(cfg.blocks))])
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
