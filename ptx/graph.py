"""Graphs: control-flow graphs of functions, and walks, dominators and cycles over any nodes."""

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

END = -1  # reconvergence at the end of the program

Node = TypeVar("Node", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions ``first`` to ``first + count - 1``.

    ``successors`` are block indices: the targets of the branch in its order, then the next block where control can
    fall through; each once. ``leaves``: lanes can end the function here.
    """

    first: int
    count: int
    successors: tuple[int, ...]
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class Cfg:
    """Blocks in the order of the text; block 0 is entered first.

    ``reconvergence`` is per block its immediate post-dominator, -1 where that is the end of the function.
    """

    blocks: tuple[Block, ...]
    reconvergence: tuple[int, ...]


def make_blocks(
    starts: list[int], size: int, targets: Callable[[int], Iterable[int]], goes_on: Callable[[int], bool],
    ends: Callable[[int], bool],
) -> tuple[Block, ...]:  # fmt: skip
    """The blocks that begin at ``starts``, of ``size`` instructions.

    Asked of the last instruction of each block, by index: the instructions that it can branch to, whether control can
    go on to the next instruction, and whether lanes can end there.
    """
    block_of = {start: block for block, start in enumerate(starts)}
    blocks = []
    for first, stop in pairwise((*starts, size)):
        successors = [block_of[target] for target in targets(stop - 1)]
        falls = goes_on(stop - 1)
        if falls and stop < size:
            successors.append(block_of[stop])
        leaves = ends(stop - 1) or (falls and stop == size)
        blocks.append(Block(first, stop - first, tuple(dict.fromkeys(successors)), leaves))
    return tuple(blocks)


def reached(starts: Iterable[Node], edges: Callable[[Node], Iterable[Node]], stop: Collection[Node] = ()) -> set[Node]:
    """The starts and every node on a path from them; paths end at the nodes in ``stop``, which are left out."""
    seen = set(starts)
    waiting = list(seen)
    while waiting:
        for node in edges(waiting.pop()):
            if node not in seen and node not in stop:
                seen.add(node)
                waiting.append(node)
    return seen


def settle(first: Iterable[int], update: Callable[[int], Iterable[int]]) -> None:
    """Update nodes, the last of ``first`` first, until none is left; ``update`` returns the nodes to update again."""
    waiting = list(first)
    queued = set(waiting)
    while waiting:
        node = waiting.pop()
        queued.remove(node)
        for other in update(node):
            if other not in queued:
                queued.add(other)
                waiting.append(other)


def post_order(edges: Callable[[int], Iterable[int]], root: int) -> list[int]:
    """Nodes reachable from the root, each after everything first reached through it."""
    seen, order = {root}, []
    stack = [(root, iter(edges(root)))]
    while stack:
        node, rest = stack[-1]
        following = next((n for n in rest if n not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(edges(following))))
    return order


def predecessors_of(successors: list[list[int]]) -> list[list[int]]:
    """The reversed edges, in ascending order of the nodes they come from."""
    made: list[list[int]] = [[] for _ in successors]
    for node, targets in enumerate(successors):
        for target in targets:
            made[target].append(node)
    return made


def cycling(edges: list[list[int]]) -> list[int]:
    """Nodes that can be reached from themselves, ascending.

    Method: Kosaraju's two passes, Aho, Hopcroft, Ullman, "Data Structures and Algorithms", 6.7.
    """
    root = len(edges)
    before = predecessors_of(edges)
    seen: set[int] = set()
    found: list[int] = []
    for start in reversed(post_order([*edges, list(range(root))].__getitem__, root)[:-1]):
        if start in seen:
            continue
        component = reached((start,), before.__getitem__, seen)
        seen |= component
        if len(component) > 1 or start in edges[start]:
            found += component
    return sorted(found)


def immediate_post_dominators(graph: list[tuple[tuple[int, ...], bool]]) -> tuple[int, ...]:
    """Per node its immediate post-dominator, -1 for the end; a node is (successors, whether it reaches the end itself).

    Where no path leads to the end (a loop without a way out), the last such node is taken to lead there.
    Method: Cooper, Harvey, Kennedy, "A simple, fast dominance algorithm", on the reversed graph.
    """
    size = len(graph)
    end = size
    successors = [list(targets) + [end] * leaves for targets, leaves in graph]
    predecessors = predecessors_of([*successors, []])
    order = post_order(predecessors.__getitem__, end)
    while len(order) < size + 1:
        stuck = max(set(range(size)) - set(order))
        successors[stuck].append(end)
        predecessors[end].append(stuck)
        order = post_order(predecessors.__getitem__, end)
    dominators = immediate_dominators(order, successors, end)
    return tuple(END if dominators[node] == end else dominators[node] for node in range(size))


def immediate_dominators(order: list[int], successors: list[list[int]], root: int) -> dict[int, int]:
    """Immediate dominators of the nodes in ``order`` (``post_order`` from the root) of a graph.

    For post-dominators, whose graph is reversed, a node's predecessors are the program's ``successors``.
    """
    number = {node: index for index, node in enumerate(order)}
    dominator = {root: root}
    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            found = None
            for other in successors[node]:
                if other in dominator:
                    found = other if found is None else _nearest_common(found, other, dominator, number)
            assert found is not None  # every node leads to the root, and one on the way came earlier in this order
            if dominator.get(node) != found:
                dominator[node], changed = found, True
    return dominator


def _nearest_common(one: int, other: int, dominator: dict[int, int], number: dict[int, int]) -> int:
    while one != other:
        while number[one] < number[other]:
            one = dominator[one]
        while number[other] < number[one]:
            other = dominator[other]
    return one
