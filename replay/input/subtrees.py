"""Subtrees of a traversal: which of the records behind one are below it, for plug-ins that need them.

A traversal goes depth first, so that all records below one are a stretch behind it. The stack of a lane follows: its
front record, the record behind that one's subtree, the one behind that, and so on to the end of the ray.
"""

import numpy as np

from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.replay.input import rays as record
from rayplay.replay.jit.bits import entry_point

INSTANCE = NODE_KINDS.index("instance")
DEEPEST = 1024
"""Records on the way from a root to a leaf; below that another stretch begins."""


def subtrees(first: np.ndarray, node: np.ndarray, parent: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """int32[records]: records of each one's subtree, itself among them; of a load from an intersection table 1.

    first   int64[rays + 1]: first record of each ray in node uint32[records].
    parent  int32[nodes] at least; kind uint8[nodes].
    """
    found = np.ones(len(node), np.int32)
    measure(first, node, parent, kind, found, np.zeros((DEEPEST, 2), np.int64))
    return found


@entry_point
def measure(
    first: np.ndarray, node: np.ndarray, parent: np.ndarray, kind: np.ndarray, found: np.ndarray, stack: np.ndarray
) -> int:
    """Fill in the lengths. A header is below the instance before it; a record none of whose ancestors is open, as in
    the continuation of a ray, is below none."""
    for ray in range(first.shape[0] - 1):
        top = 0
        for at in range(first[ray], first[ray + 1]):
            number = np.int64(node[at]) & record.NODE_BITS
            if number >= kind.shape[0]:
                continue
            above = int(parent[number])
            if kind[number] == record.HEADER:
                above = record.NO_PARENT
                if at > first[ray]:
                    before = int(np.int64(node[at - 1]) & record.NODE_BITS)
                    above = before if before < kind.shape[0] and kind[before] == INSTANCE else record.NO_PARENT
            while top > 0 and (stack[top - 1, 0] != above or top == stack.shape[0]):
                top -= 1
                found[stack[top, 1]] = at - stack[top, 1]
            stack[top, 0], stack[top, 1] = number, at
            top += 1
        while top > 0:
            top -= 1
            found[stack[top, 1]] = first[ray + 1] - stack[top, 1]
    return 0
