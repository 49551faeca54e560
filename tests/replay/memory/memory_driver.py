"""Drives crossbar, L2 and DRAM without SMs: requests from a list, responses into a log."""

from dataclasses import dataclass

import numpy as np

from rayplay.replay.engine.quantum import Memory
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.jit.bits import entry_point
from rayplay.replay.memory import partition, port, translation
from rayplay.replay.memory.crossbar import crossbar
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.memory.l2 import state as l2_state
from rayplay.replay.memory.port import IN_FLIGHT, READ, RESPONSE_HEAD, RESPONSE_TAIL, Port


@entry_point
def run(
    memory: Memory, ports: Port, requests: np.ndarray, head: np.ndarray, window: int, quantum: int, cycles: int,
    log: np.ndarray,
) -> int:  # fmt: skip
    """Send each SM's requests (rows: SM, cycle, sector, kind, byte mask), at most ``window`` under way per SM.

    ``head`` has each SM's first row, and after the last SM's its end. Rows of ``log``: SM, request, response's cycle.
    """
    answered, now = 0, 0
    while now < cycles:
        until = min(now + quantum, cycles)
        for sm in range(head.shape[0] - 1):
            answered = run_sm(ports, requests, head, sm, window, now, until, log, answered)
        routed = crossbar.route_requests(memory.crossbar, ports, memory.l2, until)
        for controller in range(memory.l2.controllers):
            partition.advance(memory.crossbar, memory.l2, memory.dram, controller, routed)
        crossbar.route_responses(
            memory.crossbar, ports, memory.l2, partition.horizon(memory.crossbar, memory.l2, routed)
        )
        now = until
    return answered


@entry_point
def run_sm(
    ports: Port, requests: np.ndarray, head: np.ndarray, sm: int, window: int, since: int, until: int, log: np.ndarray,
    answered: int,
) -> int:  # fmt: skip
    """One SM: every cycle it takes what has come and sends one request."""
    for now in range(since, until):
        while ports.port[sm, RESPONSE_HEAD] < ports.port[sm, RESPONSE_TAIL]:
            at = sm * ports.pitch + (ports.port[sm, RESPONSE_HEAD] & (ports.ring - 1))
            if ports.response[at, 0] > now:
                break
            ports.port[sm, RESPONSE_HEAD] += 1
            ports.port[sm, IN_FLIGHT] -= 1
            log[answered, 0], log[answered, 1], log[answered, 2] = sm, ports.response[at, 1], ports.response[at, 0]
            answered += 1
        row = head[sm]
        due = row < requests.shape[0] and requests[row, 0] == sm and requests[row, 1] <= now
        if due and ports.port[sm, IN_FLIGHT] < window and port.may_send(ports, sm, now):
            port.send(ports, sm, now, requests[row, 2], requests[row, 3], requests[row, 4], row)
            head[sm] += 1
    return answered


def make_port(gpu: Gpu, sms: int, credit_cycles: int = 1) -> Port:
    """Empty ports."""
    tables = translation.make_state(gpu.translation, sms)
    return port.make_state(gpu.interconnect, sms, tables, gpu.addresses, credit_cycles)


@dataclass
class Machine:
    """The memory side of a GPU."""

    gpu: Gpu

    def __post_init__(self) -> None:
        gpu, sms = self.gpu, self.gpu.sm.count
        core, l2_khz, memory = gpu.sm.clock_khz, gpu.memory.l2_clock_khz, gpu.memory
        summed = memory.clock_ticks == "summed"
        self.ports = make_port(gpu, sms, gpu.longest_quantum)
        flying = sms * gpu.interconnect.packets_in_flight
        self.memory = Memory(
            crossbar.make_state(
                sms, gpu.l2_slices, core, memory.interconnect_clock_khz, l2_khz,
                gpu.interconnect.arbiter == "round_robin", summed,
            ),
            l2_state.make_state(gpu.l2, gpu.addresses, gpu.interconnect.out_packets, flying, core,
                memory.interconnect_clock_khz, l2_khz, summed=summed),
            dram_state.make_state(
                gpu.dram, memory.count, gpu.l2.slices_per_controller, gpu.l2.to_dram_queue, gpu.l2.from_dram_queue,
                gpu.l2.latency_cycles, core, l2_khz, summed=summed,
            ),
        )  # fmt: skip

    def run(self, requests: np.ndarray, cycles: int, window: int = 1 << 30, quantum: int = 0) -> np.ndarray:
        """The log of ``run``, by SM and request; ``requests`` is sorted by SM here."""
        order = np.argsort(requests[:, 0], kind="stable")
        rows = np.ascontiguousarray(requests[order])
        head = np.searchsorted(rows[:, 0], np.arange(self.gpu.sm.count + 1)).astype(np.int64)
        log = np.zeros((len(rows), 3), np.int64)
        count = run(
            self.memory, self.ports, rows, head, window, quantum or self.gpu.longest_quantum, cycles, log
        )  # fmt: skip
        log[:, 1] = order[log[:, 1]]
        return log[:count]


def reads(sm: np.ndarray, cycle: np.ndarray, sector: np.ndarray) -> np.ndarray:
    """Requests that read whole sectors."""
    whole = np.full(len(sector), 0xFFFFFFFF)
    columns = np.broadcast_arrays(sm, cycle, sector, READ, whole)
    return np.stack(columns, axis=1).astype(np.int64)
