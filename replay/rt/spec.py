"""Description of the ray-tracing unit of an SM: its places, latencies and rules.

Where Vulkan-Sim has a quirk, the choice ``vulkan-sim`` is the quirk and the other word what hardware would do.
Rules: ``docs/sources/vulkan-sim.md#rt-unit, #intersection-table``.
"""

from dataclasses import dataclass

from rayplay.replay.input import rays
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.unit.schema import law, value

MAX_WARPS = 32
CACHES = ("l1", "private", "none")
L1_CACHE, PRIVATE, NO_CACHE = range(3)
MSHR_LIMITS = ("every-read", "vulkan-sim")
EVERY_READ, NEW_RECORDS = range(2)
COALESCING = ("warp", "unit")
PER_WARP, PER_UNIT = range(2)
REFUSALS = ("vulkan-sim", "retried")
QUEUED_AGAIN, RETRIED = range(2)
RESPONSES = ("vulkan-sim", "waiter")
REQUESTER, WAITER = range(2)
HIT_STORES = ("vulkan-sim", "every-hit", "none")
ONE_PER_DELAY, EVERY_HIT, NO_STORES = range(3)


@dataclass(frozen=True)
class PrivateCache(cache_state.Policy):
    """Private cache of a ray-tracing unit, for reads alone; used where ``rt.cache`` is private."""

    sets: int = value("sets", "Sets of the cache", 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_sets(self.sets)


@dataclass(frozen=True)
class Spec:
    """Ray-tracing unit of an SM."""

    private: PrivateCache
    cores: int = value("count", "Ray-tracing units of an SM; a warp goes to the first with a free place", 1)
    warps: int = value("warps", "Warps that may be in a unit at a time", 1)
    cache: str = value("name", "Where reads go: the SM's L1, the unit's private cache, or past both", choices=CACHES)
    perfect_memory: bool = value("1", "Every request hits and stores end at once")
    hit_cycles: int = value("cycles", "From a request that hits to its data; 0 delivers in the same cycle", 0)
    mshr_entries: int = value("requests", "Reads of a unit that may be missing at a time; 0 sets no limit", 0)
    mshr_limit: str = value(
        "name", "What waits at mshr_entries: every read; or, as Vulkan-Sim has it, only new records, only with the"
        " private cache, and only beyond that number of its MSHRs", choices=MSHR_LIMITS
    )  # fmt: skip
    coalescing: str = value(
        "name", "Lanes that share a response: of one warp, or of all in the unit", choices=COALESCING
    )
    refused_chunk: str = value(
        "name", "A first chunk the cache refuses: queued again behind the record's other chunks as 32 B of no kind"
        " (Vulkan-Sim), or retried", choices=REFUSALS
    )  # fmt: skip
    response: str = value(
        "name", "A response serves each warp that waits: lanes at the base address of the request that went out"
        " (Vulkan-Sim), or of the warp's own", choices=RESPONSES
    )  # fmt: skip
    hit_stores: str = value(
        "name", "A triangle hit writes 32 B when its delay ends: hits of one delay once (Vulkan-Sim), each, or none",
        choices=HIT_STORES,
    )  # fmt: skip
    intersection_table: str = value(
        "name", "What a procedural hit writes: a row each, one per hit group after reading the rows (FCC), or nothing",
        choices=rays.TABLES,
    )  # fmt: skip
    header_cycles: int = value("cycles", "Latency of a BVH header after its last byte arrived", 1)
    internal_cycles: int = value("cycles", "Latency of an internal node", 1)
    instance_cycles: int = value("cycles", "Latency of an instance", 1)
    descriptor_cycles: int = value("cycles", "Latency of a primitive descriptor", 1)
    triangle_cycles: int = value("cycles", "Latency of a triangle that is missed", 1)
    triangle_hit_cycles: int = value("cycles", "Latency of a triangle that is hit", 1)
    procedural_cycles: int = value("cycles", "Latency of a procedural primitive", 1)
    table_cycles: int = value("cycles", "Latency of a load from the intersection table", 1)
    box_tests_per_cycle: int = value("boxes", "Boxes that a unit tests a cycle; 0 sets no limit", 0)
    triangle_tests_per_cycle: int = value("triangles", "Triangles that a unit tests a cycle; 0 sets no limit", 0)
    stack_entries: int = value(
        "entries", "Entries of a ray's stack in the unit, of 8 B; the others lie in memory; 0 sets no limit", 0
    )
    boxes_per_node: int = value("boxes", "Boxes that an internal node has a unit test", 1)

    def __post_init__(self) -> None:
        law(self.warps <= MAX_WARPS, f"warps must be at most {MAX_WARPS}, not {self.warps}")
        law(self.hit_cycles <= 255, f"hit_cycles must be at most 255, not {self.hit_cycles}")

    @property
    def latency_cycles(self) -> tuple[int, ...]:
        """Latencies by record kind (formats.trace.NODE_KINDS), then the hit triangle's, the table's, and no kind's."""
        return (
            self.header_cycles, self.internal_cycles, self.instance_cycles, self.descriptor_cycles,
            self.triangle_cycles, self.procedural_cycles, self.triangle_hit_cycles, self.table_cycles, 1,
        )  # fmt: skip
