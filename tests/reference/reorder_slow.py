"""Reorders of threads as plainly as they can be said: lists of steps by thread. Twin of ``replay.reorder``."""

from typing import Any

from rayplay.formats.dataset.reader import Trace

CALL = "_optix_hitobject_reorder"
STORE, MEET, LOAD = "store", "meet", "load"
Step = tuple[int, int, tuple[int, int]]  # block; depth of calls; visit and lane of the trace
Visit = tuple[Any, dict[int, tuple[int, int]]]  # block, or what a reorder adds; by lane, visit and lane of the trace
NOWHERE = (-1, -1)


class SlowReorder:
    """Warps of a trace of one launch after their reorders.

    window  warps that meet. key: ``path``, ``program`` or ``none``.

    ``visits`` holds the visits of each new warp.
    """

    def __init__(self, trace: Trace, window: int, key: str) -> None:
        self.blocks = trace.read("blocks", ["program", "first_instruction", "instruction_count"])
        rows = trace.read("instructions", ["block_id", "text", "operation_class"])
        self.reorders = {int(b) for b, text in zip(rows["block_id"], rows["text"], strict=True) if CALL in text}
        last = self.blocks["first_instruction"] + self.blocks["instruction_count"] - 1
        self.ends = {block for block, row in enumerate(last) if rows["operation_class"][row] == "exit"}
        self.key, self.window = key, window
        self.visits: list[list[Visit]] = []
        threads = self._threads(trace)
        self.said = self._said(trace, threads) if key == "hint" else {}
        count = trace.rows("warps")
        for first in range(0, count, window):
            self.visits += self._window([threads[w] for w in range(first, min(first + window, count))])

    def _threads(self, trace: Trace) -> list[dict[int, list[Step]]]:
        """The steps of each lane of each warp."""
        rows = trace.read("visits")
        warps: list[dict[int, list[Step]]] = [{} for _ in range(trace.rows("warps"))]
        for row, (warp, block, mask) in enumerate(
            zip(rows["warp_id"].tolist(), rows["block_id"].tolist(), rows["active_mask"].tolist(), strict=True)
        ):
            for lane in range(32):
                if mask >> lane & 1:
                    warps[warp].setdefault(lane, []).append((block, 0, (row, lane)))
        return [{lane: self._deep(steps) for lane, steps in warp.items()} for warp in warps]

    def _said(self, trace: Trace, threads: list[dict[int, list[Step]]]) -> dict[tuple[int, int], int]:
        """By step the hint of its thread's last call before it."""
        rows, warps = trace.read("hints"), trace.read("visits", ["warp_id"])["warp_id"].tolist()
        hints: dict[tuple[int, int], int] = {}
        for row, mask in enumerate(rows["lane_mask"].tolist()):
            visit = warps.index(int(rows["warp_id"][row])) + int(rows["visit"][row])
            lanes = [lane for lane in range(32) if mask >> lane & 1]
            first = int(rows["hint_offset"][row])
            hints |= {(visit, lane): int(rows["hint"][first + k]) for k, lane in enumerate(lanes)}
        found = {}
        for steps in (each for warp in threads for each in warp.values()):
            last = 0
            for block, _, at in steps:
                found[at] = last
                last = hints[at] if block in self.reorders else last
        return found

    def _is_first(self, block: int) -> bool:
        return block == 0 or self.blocks["program"][block] != self.blocks["program"][block - 1]

    def _deep(self, steps: list[Step]) -> list[Step]:
        """Steps with their depth: a program that begins is called, unless the one before ended there."""
        returns: list[int] = []
        found: list[Step] = []
        for place, (block, _, at) in enumerate(steps):
            before = steps[place - 1][0] if place else None
            if before is not None and self._is_first(block) and before not in self.ends:
                returns.append(before + 1)
            elif before in self.ends and not self._is_first(block) and block in returns:
                while returns.pop() != block:
                    pass
            found.append((block, len(returns), at))
        return found

    def _window(self, warps: list[dict[int, list[Step]]]) -> list[list[Visit]]:
        """The visits of the warps of one window."""
        made: list[list[Visit]] = [[] for _ in warps]
        now = {32 * warp + lane: steps for warp, lanes in enumerate(warps) for lane, steps in lanes.items()}
        for generation in range(1 << 20):
            if not now:
                return made
            left: dict[int, list[Step]] = {}
            for warp, visits in enumerate(made):
                lanes = {place % 32: steps for place, steps in now.items() if place // 32 == warp}
                if not lanes:
                    continue
                if generation:
                    visits += [(what, dict.fromkeys(lanes, NOWHERE)) for what in (MEET, LOAD)]
                waiting = self._run(lanes, visits)
                left |= {32 * warp + lane: steps for lane, steps in waiting.items()}
                if waiting:
                    visits.append((STORE, dict.fromkeys(waiting, NOWHERE)))
            order = sorted(left, key=lambda place: (self._key(left[place]), place))
            now = {rank: left[place] for rank, place in enumerate(order)}
        raise AssertionError("a thread never ends")

    def _key(self, steps: list[Step]) -> list[int]:
        count = {"path": 16, "program": 1, "hint": 1, "none": 0}[self.key]
        blocks = [block for block, _, _ in steps[: self._stretch(steps)][:count]]
        return blocks + [-1] * (count - len(blocks)) + ([self.said[steps[0][2]]] if self.key == "hint" else [])

    def _stretch(self, steps: list[Step]) -> int:
        """Steps up to the next reorder, with its block."""
        return next((k + 1 for k, (block, _, _) in enumerate(steps) if block in self.reorders), len(steps))

    def _run(self, lanes: dict[int, list[Step]], visits: list[Visit]) -> dict[int, list[Step]]:
        """Run lanes until each ends or waits at a reorder; returns the steps left to the waiting ones."""
        todo = {lane: steps[: self._stretch(steps)] for lane, steps in lanes.items()}
        rest = {lane: steps[self._stretch(steps) :] for lane, steps in lanes.items()}
        while todo:
            block, depth, _ = min((steps[0] for steps in todo.values()), key=lambda step: (-step[1], step[0]))
            together = sorted(lane for lane, steps in todo.items() if steps[0][:2] == (block, depth))
            visits.append((block, {lane: todo[lane][0][2] for lane in together}))
            todo = {lane: steps[lane in together :] for lane, steps in todo.items()}
            todo = {lane: steps for lane, steps in todo.items() if steps}
        return {lane: steps for lane, steps in rest.items() if steps}
