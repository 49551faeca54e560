"""Configuration of a GPU: one flat record, its values named as in docs/sources/accel-sim.md#configurations."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CacheConfig:
    """A sectored cache of 128 B lines."""

    sets: int
    ways: int
    mshrs: int
    merges: int
    miss_queue: int
    write_through: bool
    ipoly: bool
    dirty_percent: float  # a dirty line is no victim while a smaller share of all lines is dirty
    whole_sectors: bool = False  # GPGPU-Sim 4.0: a sector written in parts is no hit, for writes neither
    fifo: bool = False
    fermi: bool = False
    evict: bool = False  # a write that hits goes on and drops its sector
    write_allocate: str = "lazy"  # or none, naive, fetch
    whole_lines: bool = False  # a line is fetched, valid, dirty and dropped as one
    keeps_local: bool = False  # evict holds for global memory; writes to local memory stay


L1_2060 = CacheConfig(4, 128, 256, 32, 16, write_through=True, ipoly=False, dirty_percent=25)
L2_2060 = CacheConfig(64, 16, 192, 4, 32, write_through=False, ipoly=True, dirty_percent=0)


@dataclass(frozen=True)
class DramConfig:
    """GDDR timing in command clocks."""

    banks: int = 16
    groups: int = 4
    ccd: int = 4
    ccd_long: int = 6
    rrd: int = 12
    rcd: int = 24
    ras: int = 55
    rp: int = 24
    rc: int = 78
    cl: int = 24
    wl: int = 8
    cdlr: int = 10
    wr: int = 24
    rtpl: int = 4
    burst_cycles: int = 4  # burst length / data rate: command clocks that a column command holds the bus
    atom_bytes: int = 32
    queue: int = 64
    return_queue: int = 192
    free_turnaround: bool = False
    fifo: bool = False


@dataclass(frozen=True)
class TextureConfig:
    """The texture cache or unit, and whether texture instructions use it."""

    used: bool = False
    sets: int = 4
    ways: int = 256
    line_bytes: int = 128
    fragments: int = 512
    requests: int = 8
    lines: int = 128
    results: int = 2
    path: str = "cache"
    latency_cycles: int = 150
    quads_per_cycle: int = 1
    quads_per_request: int = 2
    quads_per_wide_request: int = 1
    queue_entries: int = 8

    @property
    def is_unit(self) -> bool:
        return self.path == "unit"


@dataclass(frozen=True)
class RasterConfig:
    """Rates of the whole GPU; 0: no limit."""

    colour_pixels: int = 0
    pixel_bytes: int = 16
    depth_pixels: int = 0


@dataclass(frozen=True)
class InstructionCacheConfig:
    """The instruction cache, unless it is perfect."""

    used: bool = False
    sets: int = 64
    ways: int = 16
    mshrs: int = 2
    merges: int = 48
    miss_queue: int = 4


LATENCIES_2060 = {
    "SP": (2, 2), "INT": (2, 2), "SFU": (21, 8), "DP": (64, 64), "S1": (4, 4), "S2": (200, 4), "S3": (16, 16),
    "S4": (4, 1), "ONE": (1, 1),
}  # fmt: skip


@dataclass(frozen=True)
class GpuConfig:
    """The whole GPU."""

    sms: int = 30
    cluster: int = 1  # SMs that share a port
    rotates: bool = True  # whether another of them goes first every cycle
    grant_cycles: int = 1
    perfect: bool = False  # requests turn around in the port
    warps: int = 32
    ctas: int = 16
    registers: int = 65536
    shared_bytes: int = 65536
    schedulers: int = 4
    policy: str = "lrr"
    active_warps: int = 6  # of a scheduler, with the policies two-level and limited
    issues: int = 1  # instructions of a warp that a scheduler issues in a cycle
    different_units: bool = True  # two instructions of a cycle go to units of different kinds
    sub_cores: bool = True  # each scheduler has latches, banks and units of its own
    collectors: int = 8
    collector_owner: str = "scheduler"
    collector_ports: int = 8
    register_banks: int = 8
    collector_steps: int = 2
    fetch_width: int = 4
    result_buses: int = 8
    latencies: dict[str, tuple[int, int]] = field(default_factory=lambda: dict(LATENCIES_2060))
    l1: CacheConfig = L1_2060
    l1_latency: int = 32
    l1_banks: int = 4
    bank_bytes: int = 32
    skip_l1: bool = False  # global memory goes past the L1
    skip_local: bool = False
    local_by_cta: bool = True
    unified_bytes: int = 96 * 1024  # L1 and shared memory together; 0: the L1 keeps its ways
    shared_options: tuple[int, ...] = (32 * 1024, 64 * 1024)
    shared_latency: int = 30
    warp_parts: int = 1  # of a warp, coalesced one after another
    texture: TextureConfig = TextureConfig()
    raster: RasterConfig = RasterConfig()
    instructions: InstructionCacheConfig = InstructionCacheConfig()
    response_fifo: int = 2
    cluster_fifo: int = 32
    channels: int = 12
    slices_per_channel: int = 2
    ipoly_partitions: bool = False
    random_partitions: bool = False  # a block gets its slice when it is decoded first
    flush_l2: bool = False  # of dirty lines, in half of the slices, while no warp lives
    l2: CacheConfig = L2_2060
    rop_latency: int = 194
    dram_latency: int = 96
    slice_input: int = 64
    slice_to_dram: int = 64
    slice_from_dram: int = 64
    slice_replies: int = 64
    crossbar_inputs: int = 512
    crossbar_outputs: int = 512
    round_robin: bool = False
    dram: DramConfig = DramConfig()
    core_mhz: float = 1365.0
    crossbar_mhz: float = 0.0  # 0: as the core
    l2_mhz: float = 0.0
    dram_mhz: float = 3500.5
    summed_clocks: bool = True
    local_start: int = 2**64 + 0xC0000000 - 80 * 96 * 1024 - 80 * 4096 * 16384  # addresses are unsigned


RTX2060 = GpuConfig()
RTX3070 = GpuConfig(
    sms=46, warps=48, ctas=32, shared_bytes=102400,
    latencies={**LATENCIES_2060, "SP": (2, 1), "S3": (32, 32)},
    l1=CacheConfig(4, 256, 384, 48, 16, write_through=True, ipoly=False, dirty_percent=25),
    l1_latency=39, unified_bytes=128 * 1024, shared_options=tuple(k * 1024 for k in (0, 8, 16, 32, 64, 100)),
    shared_latency=29, channels=16, ipoly_partitions=True, rop_latency=187, dram_latency=254, core_mhz=1132.0,
)  # fmt: skip
