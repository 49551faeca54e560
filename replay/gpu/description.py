"""The GPU as a tree of unit descriptions, read from ``gpu.toml``; derived values and the laws between units."""

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import meant
from rayplay.replay.gpu import gpgpusim
from rayplay.replay.input import latencies
from rayplay.replay.lsu import state as lsu_state
from rayplay.replay.memory import instruction_cache, l1, port, rop, texture, translation
from rayplay.replay.memory.addresses import PARTITION_HASHES, Addresses, make_addresses
from rayplay.replay.memory.dram import spec as dram_spec
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.plugin import described
from rayplay.replay.plugin.load import Plugin
from rayplay.replay.plugin.load import load as load_plugin
from rayplay.replay.reorder import spec as reorder_spec
from rayplay.replay.rt import spec as rt_unit_spec
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.gatsim import units as gatsim_units
from rayplay.replay.sm.pipeline import state as pipeline_state
from rayplay.replay.unit import schema as config
from rayplay.replay.unit.schema import LawError, law, value

FOLDER = Path(__file__).parent
LIKE = "like"
"""Key of the GPU whose values a description takes where it has none of its own."""
MOST_APART = 1000
"""Largest ratio of two clocks: a replay passes that many cycles of the one for each of the other."""
_addresses = cache(make_addresses)  # many designs of a sweep have one map
COPIES = ("none", "low_32_bits", "whole")
TICKS = ("exact", "summed")


@dataclasses.dataclass(frozen=True)
class MemoryControllers:
    """Memory partitions of the GPU."""

    count: int = value("count", "Memory controllers, each with one DRAM channel and its L2 slices", 1)
    l2_clock_khz: int = value("kHz", "Clock of the L2", 1)
    interconnect_clock_khz: int = value("kHz", "Clock of the interconnect", 1)
    clock_ticks: str = value(
        "name", "Ticks of clocks: at exact fractions, or at sums of periods in double precision", choices=TICKS
    )
    address_map: str = value(
        "bits", "Letters of the address bits: row, bank, column, burst (replay/memory/addresses.py)"
    )
    partition_hash: str = value("name", "How addresses permute the L2 slices", choices=PARTITION_HASHES)
    fills: bool = value("switch", "Whether the L2 has the buffers of a trace's table fills as they are read")
    copies: str = value("name", "Bits of a host copy's address by which it warms the L2", choices=COPIES)


@dataclasses.dataclass(frozen=True, repr=False)
class Gpu:
    """A whole GPU. Raises ``LawError`` (a ``UserError`` when read from a file) where units do not fit together."""

    sm: dispatch.Spec
    scheduler: scheduler.Spec
    pipeline: pipeline_state.Spec
    latencies: latencies.Spec
    lsu: lsu_state.Spec
    l1: l1.Spec
    texture: texture.Spec
    rop: rop.Spec
    instruction_cache: instruction_cache.Spec
    rt: rt_unit_spec.Spec
    interconnect: port.Spec
    translation: translation.Spec
    memory: MemoryControllers
    l2: l2_state.Spec
    dram: dram_spec.Spec
    reorder: reorder_spec.Spec
    gatsim: gatsim_units.Spec
    name: str = value("name", "Name of the GPU")
    plugin: ClassVar[Plugin | None] = None  # on its units; then the description has a section ``policy``

    def __post_init__(self) -> None:
        memory = self.memory
        clocks = self.sm.clock_khz, memory.l2_clock_khz, memory.interconnect_clock_khz, self.dram.clock_khz
        law(
            max(clocks) <= MOST_APART * min(clocks),
            f"the clocks of sm, memory and dram must differ at most {MOST_APART} times,"
            f" not {max(clocks)} and {min(clocks)} kHz",
        )
        per_set = self.l2_slices * self.l2.line_bytes * self.l2.ways
        law(
            self.l2.bytes % per_set == 0,
            f"l2.bytes ({self.l2.bytes}) must be a multiple of slices x line_bytes x ways ({per_set})",
        )
        for name in ("collectors", "register_banks"):
            count = getattr(self.pipeline, name)
            law(
                count % self.scheduler.count == 0,
                f"pipeline.{name} ({count}) must be a multiple of scheduler.count ({self.scheduler.count})",
            )
        banks, most = self.pipeline.register_banks, pipeline_state.MOST_BANKS * self.scheduler.count
        law(banks <= most, f"pipeline.register_banks must be at most {most}, for each scheduler 8, not {banks}")
        law(
            self.pipeline.sub_cores or (self.pipeline.collector_owner == "sm" and banks <= pipeline_state.MOST_BANKS),
            f"pipeline.sub_cores must be true, or collector_owner sm and register_banks at most"
            f" {pipeline_state.MOST_BANKS}, not {self.pipeline.collector_owner} and {banks}",
        )
        try:
            self.l2.check_sets(self.l2_sets_per_slice)
        except LawError as error:
            raise LawError(f"l2: {error} (l2.bytes / (memory.count x slices x line_bytes x ways))") from None
        self._check_way_to_memory()
        law(self.addresses.channels == self.memory.count, "memory.address_map must fit the channels")

    def _check_way_to_memory(self) -> None:
        """Laws between units of the memory; ``LawError``."""
        law(
            not (self.packets_of_lines and self.interconnect.perfect_memory),
            "interconnect.perfect_memory needs instruction_cache.perfect, no L1 that writes lines back or whole_lines",
        )
        forwards = self.l2.write_policy != "back" or not self.l2.write_allocate.startswith("lazy")
        law(
            not self.l1.keeps_dirty or not forwards,
            f"l1.write_policy {self.l1.write_policy} needs an L2 that writes back lazily, not"
            f" {self.l2.write_policy} and {self.l2.write_allocate}",
        )
        law(
            not ((self.translation.page_bytes or self.interconnect.far_cycles) and self.lockstep),
            "translation.page_bytes and interconnect.far_cycles must be 0 on a GPU that runs in lockstep",
        )

    @property
    def addresses(self) -> Addresses:
        """Map of addresses to channels, slices and banks, from memory.address_map."""
        memory, dram = self.memory, self.dram
        slices = self.l2.slices_per_controller
        try:
            return _addresses(
                memory.address_map, memory.count, slices, memory.partition_hash, dram.banks, dram.bank_hash
            )  # fmt: skip
        except LawError as error:
            raise LawError(f"memory.address_map {error}") from None

    @property
    def l2_slices(self) -> int:
        """memory.count x l2.slices_per_controller."""
        return self.memory.count * self.l2.slices_per_controller

    @property
    def l2_sets_per_slice(self) -> int:
        """l2.bytes / (slices x line_bytes x ways)."""
        return self.l2.bytes // (self.l2_slices * self.l2.line_bytes * self.l2.ways)

    @property
    def dram_bytes_per_second(self) -> int:
        """Peak DRAM bandwidth of all channels: count x atom_bytes / burst_ticks x clock."""
        return self.memory.count * self.dram.bytes_per_second

    @property
    def l1_miss_cycles(self) -> int:
        """Shortest way of a request to an L2 hit and back, at equal clocks: l2.latency_cycles + 5."""
        return self.l2.latency_cycles + 5

    @property
    def clock_slack(self) -> int:
        """Core cycles by which unequal clocks let the memory be further ahead: 0 where core, interconnect, L2 agree."""
        clocks = (self.memory.l2_clock_khz, self.memory.interconnect_clock_khz)
        if all(clock == self.sm.clock_khz for clock in clocks):
            return 0
        return 4 * sum(-(-self.sm.clock_khz // clock) for clock in clocks)

    @property
    def longest_quantum(self) -> int:
        """Longest quantum that is exact: l2.latency_cycles, in lockstep 1."""
        return 1 if self.lockstep else self.l2.latency_cycles

    @property
    def packets_of_lines(self) -> bool:
        """Whether a packet may be for several sectors: of instruction caches, of L1s with whole or dirty lines."""
        return not self.instruction_cache.perfect or self.l1.keeps_dirty or self.l1.whole_lines

    @property
    def draws_slices(self) -> bool:
        """Whether a block of addresses gets its slice by who asks for it first: memory.partition_hash random."""
        return self.memory.partition_hash == "random"

    @property
    def most_decodes(self) -> int:
        """Most slices that an SM looks for in a cycle if draws_slices: 2 x l1.banks + pipeline.fetches + 1; else 0."""
        return 2 * self.l1.banks + self.pipeline.fetches + 1 if self.draws_slices else 0

    @property
    def lockstep(self) -> bool:
        """Whether memory and SMs go cycle by cycle: where an SM feels others within a quantum (``engine.lockstep``)."""
        net = self.interconnect
        smallest = min(net.in_packets, net.out_packets)
        near = self.sm.cluster > 1 or net.perfect_memory or self.packets_of_lines
        near = near or self.l2.flush_idle or self.draws_slices
        return near or smallest <= self.l2.latency_cycles + 2

    @property
    def issue_per_cycle(self) -> int:
        """Peak warp-instructions per cycle: sm.count x scheduler.count."""
        return self.sm.count * self.scheduler.count

    def scaled(self, factor: int) -> "Gpu":
        """The same GPU with 1/``factor`` of the SMs, memory controllers, raster units and L2 capacity (Zatel, step 2).

        Raises ``UserError`` when the factor does not divide all these counts.
        """
        rates = {name: getattr(self.rop, name) for name in ("colour_pixels_per_cycle", "depth_pixels_per_cycle")}
        counts = {"sm.count": self.sm.count, "memory.count": self.memory.count}
        for what, count in (counts | {f"rop.{name}": rate for name, rate in rates.items()}).items():
            if factor < 1 or count % factor:
                raise UserError(f"GPU {self.name}: scaling factor {factor} must divide {what} ({count})")
        try:
            return dataclasses.replace(
                self,
                name=f"{self.name}/{factor}" if factor > 1 else self.name,
                sm=dataclasses.replace(self.sm, count=self.sm.count // factor),
                rop=dataclasses.replace(self.rop, **{name: rate // factor for name, rate in rates.items()}),
                memory=dataclasses.replace(self.memory, count=self.memory.count // factor),
                l2=dataclasses.replace(self.l2, bytes=self.l2.bytes // factor),
            )
        except LawError as error:
            raise UserError(f"GPU {self.name} scaled by {factor}: {error}") from None

    def __repr__(self) -> str:
        return f"<Gpu {self.name}: {self.sm.count} SMs, {self.memory.count} memory controllers>"

    @classmethod
    def load(cls, name: Path | str) -> "Gpu":
        """The GPU of that name, or of a .toml or gpgpusim.config file; ``UserError`` when it breaks a rule."""
        return load(str(name))

    def with_plugin(self, plugin: Plugin | Path | str) -> "Gpu":
        """The same GPU with a plug-in on its units, its parameters at their defaults; ``plugin`` as in ``load``."""
        plugin = plugin if isinstance(plugin, Plugin) else load_plugin(plugin)
        if self.plugin is not None:
            raise UserError(f"GPU {self.name}: has the plug-in {self.plugin.path}, and takes no second one")
        text = config.Text(f"GPU {self.name}", dataclasses.asdict(self), {}, {})
        made: Gpu = config.build(described.class_with(Gpu, plugin), described.with_defaults(text, plugin))
        return made

    def with_values(self, assignments: Sequence[str] = (), /, **values: Any) -> "Gpu":
        """The same GPU with ``key=value`` assignments and keyword values applied, checked as a file's values are."""
        text = config.Text(f"GPU {self.name}", dataclasses.asdict(self), {}, {})
        given = [f"{key}={config.literal(value)}" for key, value in values.items()]
        changed = config.override(text, [*assignments, *given])
        return config.build(type(self), changed)


def find(name: str, place: str = "", folder: Path = Path()) -> Path:
    """The file of a GPU: a path, from ``folder`` on, or the name of one that comes with the package.

    Raises ``UserError`` with ``place`` (default: ``--gpu NAME``) for another name.
    """
    path = folder / name
    if path.suffix in (".toml", ".config") or path.is_file():
        return path
    known = shipped()
    if name not in known:
        near = meant(name, list(known), "; ")
        place = place or f"--gpu {name}"
        raise UserError(f"{place}: must be a .toml or gpgpusim.config file or one of {', '.join(known)}{near}")
    return known[name]


def shipped() -> dict[str, Path]:
    """Files of the descriptions that come with the package, by name; ``cards`` has those made after hardware."""
    files = (*FOLDER.glob("*.toml"), *FOLDER.glob("cards/*.toml"))
    return {path.stem: path for path in sorted(files, key=lambda path: path.stem)}


def read_description(name: str) -> config.Text:
    """The text of a GPU by name or path; a ``.config`` file is one of GPGPU-Sim.

    ``like = NAME`` in a .toml names the GPU, or the file, that has the values which are not given.
    """
    return _read(find(name), ())


def _read(path: Path, above: tuple[Path, ...]) -> config.Text:
    if path.suffix != ".config":
        text = config.read_text(path)
        if LIKE not in text.values:
            return text
        return config.on_top(text, _read(_liked(path, text, above), (*above, path.resolve())))
    return gpgpusim.read_config(path, config.read_text(FOLDER / f"{gpgpusim.BASE}.toml"))


def _liked(path: Path, text: config.Text, above: tuple[Path, ...]) -> Path:
    """The file that ``like`` names; removes the key."""
    like, place = text.values.pop(LIKE), f"{text.place(LIKE)}: {LIKE}"
    if not isinstance(like, str):
        raise UserError(f"{place}: must be the name or the .toml file of a GPU, not {like!r}")
    base = find(like, place, path.parent)
    if base.suffix == ".config":
        raise UserError(f"{place}: must be a .toml description, not {like!r}")
    if base.resolve() in (*above, path.resolve()):
        raise UserError(f"{place}: must not lead back to {path.name}")
    return base


def notes(name: str) -> Iterator[str]:
    """Remarks on how a GPU's file was read; none for a .toml."""
    path = find(name)
    if path.suffix == ".config":
        yield from gpgpusim.notes(path)


def load(name: str, assignments: Sequence[str] = (), plugin: Plugin | Path | str | None = None) -> Gpu:
    """Read a GPU by name or path, with ``key=value`` assignments applied; ``UserError`` when it breaks a rule.

    plugin  acts on its units: loaded, its file (whose code is run), or its name in an installed package. Its parameters
            are values of the description.
    """
    return _read_with(name, assignments, plugin)[0]


def _read_with(
    name: str, assignments: Sequence[str], plugin: Plugin | Path | str | None
) -> tuple[Gpu, config.Text]:  # fmt: skip
    text = read_description(name)
    cls: type = Gpu
    if plugin is not None:
        loaded = plugin if isinstance(plugin, Plugin) else load_plugin(plugin)
        text, cls = described.with_defaults(text, loaded), described.class_with(Gpu, loaded)
    text = config.override(text, list(assignments))
    return config.build(cls, text), text


def explain(
    name: str, assignments: Sequence[str] = (), plugin: Plugin | Path | str | None = None
) -> Iterator[str]:  # fmt: skip
    """Every value with unit, meaning and source (its comment in the file), then every derived value."""
    gpu, text = _read_with(name, assignments, plugin)
    yield from explain_values(gpu, text, "")
    yield "derived:"
    for path, part in [("", gpu), *((f"{f.name}.", getattr(gpu, f.name)) for f in dataclasses.fields(gpu))]:
        for key, member in vars(type(part)).items():
            if isinstance(member, property) and not hasattr(getattr(part, key), "_fields"):  # a state is no value
                meaning = (member.__doc__ or "").strip()
                yield f"  {path + key:34} = {getattr(part, key)!s:<24} {meaning}"


def explain_values(part: Any, text: config.Text, path: str) -> Iterator[str]:
    """Lines for the values of one section and those inside it."""
    for field in dataclasses.fields(part):
        found, key = getattr(part, field.name), path + field.name
        if dataclasses.is_dataclass(found):
            yield f"[{key}]  {(type(found).__doc__ or '').strip()}"
            yield from explain_values(found, text, key + ".")
        else:
            unit = field.metadata["unit"]
            source = config.cite(text.comments.get(key, "")) or "no source given"
            yield f"  {key:34} = {found!s:<10} {unit:<12} {field.metadata['doc']} [{source}]"
