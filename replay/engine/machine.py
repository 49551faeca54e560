"""The simulated GPU: the state of its units, and the window of the trace that it runs.

``Machine`` builds the units, hands them to compiled code, and loads the warps they need. An observer of a replay
(counters, watchdog, checkpoints) reads a ``Machine``; the loop that drives it is in ``run``.
"""

import operator
import time
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import GPU_BYTES
from rayplay.replay.engine import quantum as step
from rayplay.replay.engine import rounds
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input import rays
from rayplay.replay.input.coalescer import static_of
from rayplay.replay.input.latencies import retimed
from rayplay.replay.input.traversals import expect_needs
from rayplay.replay.input.window import Window
from rayplay.replay.input.work import LANES
from rayplay.replay.jit import rows
from rayplay.replay.jit.bits import FAR
from rayplay.replay.jit.references import Parts, Ref
from rayplay.replay.jit.team import Team
from rayplay.replay.launch.fills import filled
from rayplay.replay.launch.host_copies import Copies
from rayplay.replay.launch.launches import depth_tests, read_launches
from rayplay.replay.launch.residency import expect_resident
from rayplay.replay.launch.selection import Selection
from rayplay.replay.launch.shared import Shared
from rayplay.replay.launch.streams import Streams
from rayplay.replay.launch.together import Together
from rayplay.replay.lsu import state as lsu_state
from rayplay.replay.memory import l1, port, translation
from rayplay.replay.memory.addresses import with_draws
from rayplay.replay.memory.cache.owners import NOT_SHARED, Sharing
from rayplay.replay.memory.crossbar import crossbar
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.plugin.attach import attach, compiling
from rayplay.replay.plugin.attach import counters as plugin_counters
from rayplay.replay.plugin.described import values_of
from rayplay.replay.plugin.load import Plugin
from rayplay.replay.rt import outside as rt_outside
from rayplay.replay.rt import state as rt_state
from rayplay.replay.sharing.plan import Plan
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import models
from rayplay.replay.sm import warps as scheduler

PIECES_AHEAD = 6  # of the trace's tables, which a thread of their own reads where there are several: 4 MB each at most


class Inputs:
    """A trace as a replay reads it.

    launches       the chosen kernels in the order of the trace; ``launch_of`` by number.
    ctas           int64[CTAs, 2]: first warp and end of every CTA with work.
    warps_per_cta  int64[kernels], of all kernels; ``held_ctas`` likewise: CTAs that the SMs hold together.
    tables         columns of the static tables.
    """

    def __init__(self, trace: Trace, gpu: Gpu, selection: Selection, sharing: Shared | None = None) -> None:
        self.trace, self.gpu, self.sharing = trace, gpu, sharing
        self.work_classes = sharing.classes if sharing else ()
        self.tables = {name: trace.read(name) for name in ("instructions", "blocks", "kernels")}
        self.has_raster_rates = bool(gpu.rop.colour_pixels_per_cycle or gpu.rop.depth_pixels_per_cycle)
        classes = self.tables["instructions"]["operation_class"].astype(str)
        self.has_textures = bool((classes == "texture").any())
        if LANES % gpu.lsu.warp_parts and (classes == "atomic").any():
            parts = f"lsu.warp_parts {gpu.lsu.warp_parts} leaves lanes out, for whose atomics Accel-Sim waits for ever"
            raise UserError(f"{trace.path}: must have no atomics on GPU {gpu.name}: {parts}")
        lengths = self.tables["blocks"]["instruction_count"].astype(np.int64)
        alone = gpu.sm.concurrent_kernels == 1 and len(self.work_classes) < 2
        launches, self.ctas = read_launches(trace, gpu, lengths, alone)
        self.launches = selection.choose(launches) if sharing is None else sharing.chosen(launches)
        expect_resident(trace, gpu, self.launches)
        self.launch_of = {launch.kernel_id: launch for launch in self.launches}
        self.warps_per_cta = np.array([launch.need.warps for launch in launches], np.int64)
        self.held_ctas = np.array([launch.places for launch in launches], np.int64) * gpu.sm.count
        self.instructions = sum(launch.instructions for launch in self.launches)
        self.engine_cpu_seconds = 0.0


class Machine(Inputs):
    """A GPU of the models ``characterised`` and ``pipeline`` between two runs of the engine.

    latencies  columns of the characterisation; None: the trace has none.
    threads    threads that share SMs, memory partitions and reading; changes no result.
    """

    def __init__(
        self, trace: Trace, gpu: Gpu, latencies: dict[str, Any] | None, selection: Selection | None = None,
        model: str | None = None, threads: int = 1, sharing: Shared | None = None,
    ) -> None:  # fmt: skip
        super().__init__(trace, gpu, selection or Selection(), sharing)
        window = gpu.sm.concurrent_kernels
        self.streams = sharing.together(self.launches, window) if sharing else Streams(self.launches, window)
        self.plan = sharing.plan(gpu, self.launches) if sharing else None
        latencies = retimed(self.tables, latencies, gpu.latencies)
        with GPU_BYTES.bound(f"GPU {gpu.name}: its SMs"):
            self.program, self.core = models.make(
                models.choose(model, latencies), gpu.scheduler, gpu.pipeline, gpu.texture, gpu.sm,
                gpu.instruction_cache, self.tables, latencies, str(trace.path), self.streams.places,
            )  # fmt: skip
            self.dispatch = dispatch.make_state(
                gpu.sm,
                self.ctas,
                self.streams.most_at_once,
                max(len(self.work_classes), 1),
                self.plan is not None,
                self.streams.places,
            )
        per_lane = trace.image_size is not None and "threads" in trace.tables
        together, held = self.warps_per_cta, self.held_ctas
        if gpu.lsu.local_order == "sm":
            together, held = np.full_like(together, gpu.sm.warps), np.full_like(held, gpu.sm.count)
        static = static_of(
            self.tables["instructions"], self.tables["kernels"], together, held * gpu.lsu.local_interleaved, gpu.lsu,
            gpu.texture if gpu.texture.path == "unit" else None, self._colours(),
        )  # fmt: skip
        table = rays.TABLES.index(gpu.rt.intersection_table)
        self.window = Window(trace, self.program, static, per_lane, table, PIECES_AHEAD if threads > 1 else 0,
                             sharing.spaces if sharing else None, self._needs(), gpu.rt.stack_entries)  # fmt: skip
        self.lane_cycles = np.zeros((trace.rows("warps") + 1 if per_lane else 1, LANES), np.int64)
        self.clock = rounds.make_clock()
        self.team = Team(threads)
        self._known: Parts = {}  # of the engine
        self._engine_of: tuple[tuple[Any, ...], step.Engine] | None = None  # what it was made of, and the engine
        with GPU_BYTES.bound(f"GPU {gpu.name}: its units"):
            self._make_units()
        self.copies = [Copies(trace, gpu.memory.copies)]
        if sharing and self.plan:
            self.copies = sharing.copies(gpu.memory.copies)
            self.adopt(self.plan)

    def _needs(self) -> tuple[str, ...]:
        """Tables of the trace that the GPU's plug-in needs."""
        plugin = self.gpu.plugin
        if plugin is None:
            return ()
        expect_needs(self.trace, plugin.needs, plugin.path)
        return plugin.needs

    def _make_units(self) -> None:
        gpu, sms, streams = self.gpu, self.gpu.sm.count, self.streams.places
        core_khz, slices = gpu.sm.clock_khz, gpu.l2.slices_per_controller
        packets = gpu.interconnect.packets_in_flight
        latches = models.has_latches(self.core)
        self.lsu = lsu_state.make_state(gpu.lsu, gpu.l1, gpu.texture, gpu.rop, sms, latches, packets, streams)
        self.l1 = l1.make_state(gpu.l1, sms, packets, streams)
        self.rt = rt_state.make_state(gpu.rt, sms, streams)
        self.port = port.make_state(
            gpu.interconnect, sms, translation.make_state(gpu.translation, sms), gpu.addresses, gpu.longest_quantum,
            streams, gpu.lockstep, gpu.sm.cluster, gpu.most_decodes,
        )  # fmt: skip
        memory, l2_khz, summed = gpu.memory, gpu.memory.l2_clock_khz, gpu.memory.clock_ticks == "summed"
        self.memory = step.Memory(
            crossbar.make_state(
                sms // gpu.sm.cluster, gpu.l2_slices, core_khz, memory.interconnect_clock_khz, l2_khz,
                gpu.interconnect.arbiter == "round_robin", summed, gpu.interconnect.grant_cycles,
            ),
            l2_state.make_state(
                gpu.l2, with_draws(gpu.addresses, self._blocks()), gpu.interconnect.out_packets,
                sms * (packets + port.LINE_SECTORS), core_khz,
                memory.interconnect_clock_khz, l2_khz, streams, gpu.lockstep, summed,
                port.LINE_SECTORS if gpu.packets_of_lines else 1,
                *self._labels(),
                filled(self.trace, gpu.memory.fills, self.sharing.spaces["kernels"][:-1] if self.sharing else (0,)),
            ),
            dram_state.make_state(
                gpu.dram, memory.count, slices, gpu.l2.to_dram_queue, gpu.l2.from_dram_queue,
                gpu.l2.latency_cycles + gpu.clock_slack, core_khz, l2_khz, streams, summed,
            ),
        )  # fmt: skip
        if gpu.plugin is not None:
            self._attach(gpu.plugin)
        self.core, self.dispatch, self.lsu, self.l1, self.rt, self.port, self.memory = rows.together(
            (self.core, self.dispatch, self.lsu, self.l1, self.rt, self.port, self.memory)
        )

    def _blocks(self) -> int:
        """Most blocks of addresses whose slice may be drawn: of instructions, accesses, copies and fills."""
        if not self.gpu.draws_slices:
            return 0
        if "rays" in self.trace.tables and self.trace.rows("rays"):
            raise UserError(f"{self.trace.path}: must have no rays where GPU {self.gpu.name} draws its slices")
        blocks, tables = len(self.tables["instructions"]["kernel_id"]), self.trace.tables
        if "accesses" in tables and self.trace.rows("accesses"):
            lanes = int(self.trace.read("accesses", ["address"])["address_offset"][-1])
            widest = int(self.tables["instructions"]["access_bytes"].max(initial=1))
            blocks += lanes * max(2, widest // 4)  # words of local memory lie apart
        for name in {"copies", "fills"}.intersection(tables):
            blocks += int((self.trace.read(name)["bytes"].astype(np.int64) // 128 + 2).sum())
        return blocks

    def _attach(self, plugin: Plugin) -> None:
        """Have a plug-in act on its units."""
        values, memory = values_of(self.gpu), self.memory

        def with_own(unit: str, state: Any) -> Any:
            return attach(plugin, values, unit, state, self._nodes)

        self.core, self.dispatch = with_own("sm", self.core), with_own("ctas", self.dispatch)
        self.l1 = self.l1._replace(cache=with_own("l1", self.l1.cache))
        self.rt = with_own("rt", self.rt._replace(private=with_own("rt_cache", self.rt.private)))
        l2 = memory.l2._replace(tags=with_own("l2", memory.l2.tags))
        self.memory = memory._replace(l2=l2, dram=with_own("dram", memory.dram))

    def _nodes(self) -> dict[str, np.ndarray]:
        """Columns of the trace's nodes, with ``parent`` where it has the table ``parents``; empty without nodes."""
        tables = [name for name in ("nodes", "parents") if name in self.trace.tables]
        return {key: column for name in tables for key, column in self.trace.read(name).items()}

    def plugin_counters(self) -> dict[str, np.ndarray]:
        """Counters of the GPU's plug-in, ``UNIT.NAME`` -> int64[instances]; none without a plug-in."""
        if self.gpu.plugin is None:
            return {}
        memory = self.memory
        states = {
            "rt": self.rt, "sm": self.core, "l1": self.l1.cache, "l2": memory.l2.tags, "rt_cache": self.rt.private,
            "dram": memory.dram, "ctas": self.dispatch,
        }  # fmt: skip
        return plugin_counters(self.gpu.plugin, states)

    def _colours(self) -> np.ndarray | None:
        """The launches that are fragment shaders, where colours have a rate."""
        if not self.gpu.rop.colour_pixels_per_cycle:
            return None
        return np.isin(np.arange(self.trace.rows("kernels")), list(depth_tests(self.trace)))

    def _labels(self) -> tuple[Sharing, np.ndarray | None]:
        """Classes of work for the L2, and the slices of each."""
        plan = self.plan
        if plan is None or not isinstance(self.streams, Together):
            return NOT_SHARED, None
        places = [self.streams.class_of_place(place) for place in range(self.streams.places)]
        return Sharing(places, plan.ways is not None, plan.takes_back, plan.has_monitors), plan.slices

    def adopt(self, plan: Plan) -> None:
        """Hold the classes of work to a plan from now on."""
        self.plan = plan
        self.dispatch.quota[:] = plan.quota.reshape(-1, dispatch.QUOTA_COLUMNS)
        if plan.ways is not None:
            self.memory.l2.tags.owners.ways[:] = plan.ways

    @property
    def now(self) -> int:
        """First cycle that is not simulated yet."""
        return int(self.clock[rounds.NOW])

    @property
    def issued(self) -> int:
        """Warp-instructions issued until now."""
        return int(self.core.stats[:, scheduler.WARP_INSTRUCTIONS].sum())

    def compile(self) -> None:
        """Have the engine compiled, or loaded from its cache."""
        with compiling(self.gpu.plugin):
            step.compile_for(self.engine())

    def run_until(self, stop: int, quantum: int) -> int:
        """Run the engine until it comes back, cycle ``stop`` at the latest; returns its status."""
        begun = time.process_time()
        status = step.run(self.engine(), stop, quantum, self.window.loaded_warps, self.team)
        self.engine_cpu_seconds += time.process_time() - begun
        return status

    def engine(self) -> step.Engine:
        """The units and the window as compiled code takes them; made again once one of them is replaced."""
        parts = (self.core, self.dispatch, self.lsu, self.l1, self.rt, self.port, self.memory, self.window.arrays)
        if self._engine_of is None or any(map(operator.is_not, parts, self._engine_of[0])):
            engine: Any = Ref(
                step.Engine(
                    self.core, self.dispatch, self.lsu, self.l1, self.rt, self.port, self.program, self.window.work(),
                    self.window.records(), self.lane_cycles, self.memory, self.clock,
                ),
                self._known,
            )  # fmt: skip
            self._engine_of = (parts, engine)
        return self._engine_of[1]

    def load(self) -> None:
        """Load the next warps, and move every cursor by what the window forgot."""
        self._engine_of = None  # it holds the window's arrays
        self._known = {name: part for name, part in self._known.items() if name not in ("work", "records")}
        moved = self.window.load(self._needed_warps)
        models.move_cursors(self.core, moved)
        operation = self.lsu.operation
        by = moved.of_rows("sector", operation[:, lsu_state.CURSOR])
        operation[:, [lsu_state.CURSOR, lsu_state.END]] -= by[:, None]
        rt_outside.move_cursors(self.rt, moved)

    def _needed_warps(self, first: int, last: int) -> np.ndarray:
        """Which of the warps ``first`` to ``last`` (exclusive) have not retired: live ones, and those to come."""
        needed, handed = np.zeros(last - first, bool), self.dispatch
        granted = handed.unit[handed.unit[:, dispatch.START] < FAR, dispatch.CTA].tolist()
        ctas = [launch.ctas for launch in self.streams.waiting()] + [(cta, cta + 1) for cta in granted]
        ctas += [(int(row[dispatch.NEXT]), int(row[dispatch.END])) for row in handed.kernel]
        for begin, end in ctas:
            if begin < end:
                needed[max(handed.warps[begin, 0] - first, 0) : max(handed.warps[end - 1, 1] - first, 0)] = True
        live = self.core.warp[models.live_warps(self.core), scheduler.NUMBER]
        needed[live[(live >= first) & (live < last)] - first] = True
        return needed
