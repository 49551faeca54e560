"""State of the slow RT unit: lanes, warps, and its options."""

from collections import deque
from dataclasses import dataclass, field

HIT, MISS, FAIL = 0, 2, 3  # status of an access, as in Vulkan-Sim's dumps
UNDEFINED, TRIANGLE_HIT = 8, 6
KINDS = ("header", "internal", "instance", "descriptor", "triangle", "procedural", "triangle_hit", "table", "undefined")
Record = tuple[int, int, int]  # address, bytes, kind


@dataclass
class Lane:
    """A ray: its records still to come, and what it is doing."""

    records: deque[Record]
    stores: list[int]  # addresses in the intersection table
    begins: bool = True
    early_out: bool = False
    missing: set[int] = field(default_factory=set)  # chunks of the front record
    marked: bool = False
    delay: int = 0
    hits: int = 0
    end: int = 0

    def load(self) -> None:
        """Look at the front record: no part of it has arrived or been requested."""
        self.marked = False
        if self.records:
            self.missing = set(range(-(-self.records[0][1] // 32)))

    @property
    def may_ask(self) -> bool:
        return bool(self.records) and not self.marked and self.delay == 0


@dataclass
class Warp:
    """A warp in the unit; ``queue`` holds the records it will ask for."""

    number: int
    operation: int
    lanes: dict[int, Lane]
    start: int = 0
    queue: deque[Record] = field(default_factory=deque)
    writes: int = 0

    @property
    def asks(self) -> bool:
        return bool(self.queue) or any(lane.may_ask for lane in self.lanes.values())


@dataclass
class Options:
    """The Spec, as plain words; ``latency`` is by kind."""

    latency: tuple[int, ...]
    warps: int = 4
    cores: int = 1
    perfect: bool = False
    hit_cycles: int = 0
    mshr_entries: int = 0
    mshr_limit: str = "every-read"
    coalescing: str = "warp"
    refused_chunk: str = "vulkan-sim"
    response: str = "waiter"
    hit_stores: str = "vulkan-sim"
    box_tests: int = 0  # a cycle; 0: any number
    triangle_tests: int = 0
    boxes_per_node: int = 6
