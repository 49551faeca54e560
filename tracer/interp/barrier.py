"""CTA barriers, interpreted: what a warp brings to one and takes from it."""

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import CLUSTER_BARRIER, MACHINE, STOP
from rayplay.tracer.interp.values import Lanes


def arrive(w: Lanes, i: Instruction) -> int:
    """Set the machine's words for the barrier; returns how the warp arrives."""
    lanes = w.executing()
    reduces = i.form.key.endswith(".red")
    operands = i.operands[1:-1] if reduces else i.operands
    first = int(np.argmax(lanes))
    values = [int(w.read(operand, "u32")[first]) for operand in operands] + [0, 0]
    if i.form.key == "barrier.cluster":
        values[0] = CLUSTER_BARRIER
    true = w.read(i.operands[-1], "pred") & lanes if reduces else np.zeros(LANES, bool)
    words = {
        "suspend_barrier": values[0], "suspend_count": values[1], "suspend_true": int(true.sum()),
        "suspend_lanes": int(lanes.sum()),
    }  # fmt: skip
    for name, value in words.items():
        w.machine_words[MACHINE[name]] = value
    return STOP.arrive if i.form.variant == "arrive" else STOP.barrier


def take_result(w: Lanes, i: Instruction) -> None:
    """bar.red: how many threads came with a true predicate, or whether all or any did."""
    if not i.form.key.endswith(".red"):
        return
    true, lanes = w.machine("barrier_true"), w.machine("barrier_lanes")
    if i.form.operation == "popc":
        w.write(i.operands[0], np.full(LANES, true, np.uint32))
    else:
        w.write(i.operands[0], np.full(LANES, true == lanes if i.form.operation == "and" else true > 0))
