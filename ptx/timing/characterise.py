"""When a warp may issue: stalls for fixed latencies, scoreboard slots for variable ones, as NVIDIA's control codes do.

An instruction with a fixed latency delays the instructions after it by ``stall_cycles``, so that the first one that
needs its result issues late enough; at the end of a block every result still under way is waited for. An instruction
with a variable latency (load, atomic, texture, trace) sets one of six slots; an instruction that reads or overwrites
the result has the slot in its wait mask, across blocks as well. A slot is clear when all that set it have finished, so
sharing slots is correct and only costs time. Slot 5 belongs to trace calls alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rayplay.ptx.flow.language import describe, runs_other_code
from rayplay.ptx.graph import Block, Cfg, settle
from rayplay.ptx.ir import Function
from rayplay.ptx.isa.describe import Description
from rayplay.ptx.timing.pipelines import VARIABLE_LATENCY_CLASSES, Pipeline, Timing

SLOTS = 6
TRACE_SLOT = 5
NO_SLOT = -1
MOST_STALL_CYCLES = 0xFFFF


@dataclass(frozen=True, slots=True)
class Characterisation:
    """Columns of the characterisation table for the instructions of one function; units by name."""

    unit: list[str]
    stall_cycles: list[int]
    initiation_cycles: list[int]
    scoreboard_slot: list[int]
    wait_mask: list[int]


def characterise(function: Function, cfg: Cfg, pipeline: Pipeline, entered_by_trace: bool = False) -> Characterisation:
    """Characterise the instructions of a function.

    ``entered_by_trace``: a trace call can run the function, so its first instruction waits for the trace's slot.
    Raises UserError for an opcode without a row in the opcode table.
    """
    described = [describe(instruction, function) for instruction in function.body]
    timings = [pipeline.timing(d.operation_class, d.timing, d.type) for d in described]
    slots = _slots(described)
    stalls = [1] * len(described)
    for block in cfg.blocks:
        _stall_block(block, described, timings, slots, pipeline, stalls)
    waits = _Waits(function, cfg, described, slots, entered_by_trace).solve()
    return Characterisation(
        [t.unit for t in timings], stalls, [t.initiation_cycles for t in timings], slots, waits
    )  # fmt: skip


def _slots(described: list[Description]) -> list[int]:
    """A slot for each instruction whose result comes at an unknown time: 0 to 4 in turn, 5 for traces."""
    slots, following = [], 0
    for description in described:
        if description.operation_class == "trace":
            slots.append(TRACE_SLOT)
        elif description.operation_class in VARIABLE_LATENCY_CLASSES and description.destinations:
            slots.append(following)
            following = (following + 1) % TRACE_SLOT
        else:
            slots.append(NO_SLOT)
    return slots


def _stall_block(
    block: Block, described: list[Description], timings: list[Timing], slots: list[int], pipeline: Pipeline,
    stalls: list[int],
) -> None:  # fmt: skip
    """Issue the block in order, as early as fixed latencies allow; the gaps are the stalls."""
    ready: dict[str, int] = {}  # when the result under way to a register is there
    now = 0
    last = block.first + block.count - 1
    for index in range(block.first, last + 1):
        description = described[index]
        earliest = now if index == block.first else now + 1
        for register in (*description.sources, *description.destinations):
            earliest = max(earliest, ready.get(register, 0))
        if index > block.first:
            stalls[index - 1] = min(earliest - now, MOST_STALL_CYCLES)
        now = earliest
        for register in description.destinations:
            if slots[index] == NO_SLOT:
                ready[register] = now + pipeline.result_cycles(timings[index])
            else:
                ready.pop(register, None)
    latest = max(ready.values(), default=0) if block.successors else 0
    stalls[last] = min(max(1, latest - now), MOST_STALL_CYCLES)


class _Waits:
    """Forward data flow of the registers that each slot may still owe.

    The state at a point is one set of registers per slot. Sets only grow while the flow is solved, and wait masks with
    them, so the result is safe on every path.
    """

    def __init__(
        self, function: Function, cfg: Cfg, described: list[Description], slots: list[int], entered_by_trace: bool
    ) -> None:
        self.cfg, self.slots = cfg, slots
        self.calls = [runs_other_code(instruction, function) for instruction in function.body]
        self.traces = [description.operation_class == "trace" for description in described]
        index: dict[str, int] = {}
        self.touched, self.written = [], []
        for d in described:
            bits = [sum(1 << index.setdefault(n, len(index)) for n in names) for names in (d.sources, d.destinations)]
            self.touched.append(bits[0] | bits[1])
            self.written.append(bits[1])
        self.waits = [0] * len(described)
        if entered_by_trace and described:
            self.waits[0] = 1 << TRACE_SLOT
        for block in cfg.blocks:
            if self.traces[block.first + block.count - 1]:
                for successor in block.successors:
                    self.waits[cfg.blocks[successor].first] |= 1 << TRACE_SLOT

    def solve(self) -> list[int]:
        """Wait mask per instruction."""
        entry = [[0] * SLOTS for _ in self.cfg.blocks]

        def update(number: int) -> Iterator[int]:
            leaving = self._through(self.cfg.blocks[number], list(entry[number]))
            for successor in self.cfg.blocks[number].successors:
                after = [old | new for old, new in zip(entry[successor], leaving, strict=True)]
                if after != entry[successor]:
                    entry[successor] = after
                    yield successor

        settle(reversed(range(len(entry))), update)
        return self.waits

    def _through(self, block: Block, owed: list[int]) -> list[int]:
        for index in range(block.first, block.first + block.count):
            touched = self.touched[index]
            for slot in range(SLOTS):
                if owed[slot] & touched or (owed[slot] and self.calls[index]):
                    self.waits[index] |= 1 << slot
                if self.waits[index] >> slot & 1:
                    owed[slot] = 0
            if self.slots[index] != NO_SLOT:
                owed[self.slots[index]] |= self.written[index]
        return owed
