"""The model of Hong and Kim (2009), which the paper's is a short form of: parallelism of memory and of computing warps.

Names are that paper's, in words; docs/sources/tuner.md#hong-and-kim has the equations.
"""

from dataclasses import dataclass

LANES = 32


@dataclass(frozen=True)
class Gpu:
    """Parameters of a GPU; delays and latencies in cycles."""

    cores: int
    clock_ghz: float
    bandwidth_gbytes_per_s: float
    latency_cycles: float
    uncoalesced_delay_cycles: float
    coalesced_delay_cycles: float
    issue_cycles: float


@dataclass(frozen=True)
class Kernel:
    """A launch: its shape, and the instructions of each warp.

    accesses_per_uncoalesced  memory transactions of an uncoalesced instruction.
    bytes_per_access          bytes of a transaction, in what a warp asks of the bandwidth.
    """

    threads_per_block: int
    blocks: int
    blocks_per_core: int
    compute: float
    uncoalesced: float
    coalesced: float
    barriers: int = 0
    accesses_per_uncoalesced: float = LANES
    bytes_per_warp: float = 128.0


@dataclass(frozen=True)
class Times:
    """Intermediate values of the model; ``cycles`` without and ``barrier_cycles`` of barriers.

    by_delay, by_bandwidth, compute_demand  bounds of both parallelisms, beside the warps.
    warp_gbytes_per_s                       that a warp asks for.
    """

    warps: float
    latency_cycles: float
    departure_cycles: float
    by_delay: float
    warp_gbytes_per_s: float
    by_bandwidth: float
    compute_demand: float
    memory_cycles: float
    compute_cycles: float
    memory_parallelism: float
    compute_parallelism: float
    repetitions: float
    case: str
    cycles: float
    barrier_cycles: float


def evaluate(gpu: Gpu, kernel: Kernel) -> Times:
    """Cycles of a launch. The kernel has at least one memory instruction. Source: Hong and Kim, equations 1 to 25."""
    n = kernel.blocks_per_core * kernel.threads_per_block / LANES
    memory = kernel.uncoalesced + kernel.coalesced
    share = kernel.uncoalesced / memory
    accesses = kernel.accesses_per_uncoalesced
    uncoalesced_latency = gpu.latency_cycles + (accesses - 1) * gpu.uncoalesced_delay_cycles
    latency = uncoalesced_latency * share + gpu.latency_cycles * (1 - share)
    departure = gpu.uncoalesced_delay_cycles * accesses * share + gpu.coalesced_delay_cycles * (1 - share)
    bandwidth_per_warp = gpu.clock_ghz * kernel.bytes_per_warp / latency
    most = gpu.bandwidth_gbytes_per_s / (bandwidth_per_warp * gpu.cores)
    by_delay = latency / departure
    mwp = min(by_delay, most, n)
    memory_cycles = uncoalesced_latency * kernel.uncoalesced + gpu.latency_cycles * kernel.coalesced
    compute_cycles = gpu.issue_cycles * (kernel.compute + memory)
    demand = (memory_cycles + compute_cycles) / compute_cycles
    cwp = min(demand, n)
    repetitions = kernel.blocks / (kernel.blocks_per_core * gpu.cores)
    once = compute_cycles / memory
    if mwp == cwp == n:
        case, cycles = "balanced", memory_cycles + compute_cycles + once * (mwp - 1)
    elif cwp >= mwp or compute_cycles > memory_cycles:
        case, cycles = "memory", memory_cycles * n / mwp + once * (mwp - 1)
    else:
        case, cycles = "arithmetic", latency + compute_cycles * n
    barrier = departure * (mwp - 1) * kernel.barriers * kernel.blocks_per_core * repetitions
    return Times(
        n, latency, departure, by_delay, bandwidth_per_warp, most, demand, memory_cycles, compute_cycles, mwp, cwp,
        repetitions, case, cycles * repetitions, barrier,
    )  # fmt: skip
