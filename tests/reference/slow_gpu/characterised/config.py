"""Configuration of an SM of the model ``characterised``, beyond the slow GPU's."""

from dataclasses import dataclass

from tests.reference.rt_unit_slow_parts import Options

from ..config import CacheConfig, GpuConfig

UNITS = ("int", "sp", "dp", "sfu", "lsu", "rt", "tensor", "texture", "branch", "uniform")


@dataclass(frozen=True)
class RtConfig:
    """The RT unit's rules, and where its reads go.

    cache    l1, private or none.
    private  the private cache of an RT core, for reads alone.
    table    whether procedural hits write a row of the baseline intersection table each.
    """

    options: Options
    cache: str
    private: CacheConfig
    table: bool


@dataclass(frozen=True, kw_only=True)
class CharacterisedConfig(GpuConfig):
    """The whole GPU.

    queue_entries   memory instructions in the LSU.
    issue_cycles    from issue to the LSU.
    perfect_memory  every memory instruction takes issue_cycles + l1_latency.
    launch_cycles   from the launch of a kernel to its first CTA.
    kernels         window of unfinished kernels; kernels of different streams in it run together.
    textures        texture instructions use the texture cache or unit; else the L1.
    """

    queue_entries: int
    issue_cycles: int
    perfect_memory: bool
    launch_cycles: int
    kernels: int
    textures: bool
    rt: RtConfig
