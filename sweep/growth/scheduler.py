"""Simulation of drivers on one store, event by event, at sizes beyond measurement.

Nodes take points from one list. Each point costs its run, an overhead, and some operations on the store, which its
server does one after the other. Nodes die and come back; what ran on them runs again, once its claims are stale. It is
a queue of events, so that 100,000 points take a second; nothing in it is random but durations and deaths, by a seed.
"""

import heapq
import math
from typing import NamedTuple

import numpy as np


class Cluster(NamedTuple):
    """A simulated cluster and its points.

    spread             standard deviation of the logarithm of the points' durations.
    operations         on the store for a point: claim, look, publish, release.
    server_operations  that the store's server does in a second.
    failed_claims      operations of a driver that finds a point taken; 0 where each driver has its part.
    days_to_failure    mean life of a node; inf without deaths.
    """

    nodes: int
    slots: int
    points: int
    mean_seconds: float
    spread: float = 0.5
    overhead_seconds: float = 0.02
    operations: int = 12
    server_operations: float = 2000.0
    failed_claims: int = 0
    days_to_failure: float = math.inf
    repair_seconds: float = 600.0
    stale_seconds: float = 90.0
    seed: int = 1


class Outcome(NamedTuple):
    """Outcome of a simulation.

    efficiency  processor time of the points, each once, by slots x makespan.
    executions  runs that were started, for each point.
    busy        share of the time in which the store's server works.
    """

    makespan_seconds: float
    efficiency: float
    executions: float
    busy: float


def simulate(cluster: Cluster) -> Outcome:
    """Run all points, the longest first."""
    chance = np.random.default_rng(cluster.seed)
    middle = math.log(cluster.mean_seconds) - cluster.spread**2 / 2
    lengths = np.sort(chance.lognormal(middle, cluster.spread, cluster.points))[::-1].tolist()
    deaths = _deaths(cluster, chance)
    free = [(0.0, node, slot) for node in range(cluster.nodes) for slot in range(cluster.slots)]
    waiting: list[tuple[float, int]] = []  # points whose node died: when their claims are stale, and which
    server, worked, runs, last, following = 0.0, 0.0, 0, 0.0, 0
    operation = 1.0 / cluster.server_operations
    heapq.heapify(free)
    while following < cluster.points or waiting:
        now, node, slot = heapq.heappop(free)
        if waiting and (waiting[0][0] <= now or following >= cluster.points):
            ready, point = heapq.heappop(waiting)
            now = max(now, ready)
        else:
            point, following = following, following + 1
        asked = (cluster.operations + cluster.failed_claims) * operation
        server = max(server, now) + asked
        worked += asked
        end = server + cluster.overhead_seconds + lengths[point]
        runs += 1
        death = _next_death(deaths[node], now)
        if death < end:
            heapq.heappush(waiting, (death + cluster.stale_seconds, point))
            heapq.heappush(free, (death + cluster.repair_seconds, node, slot))
            continue
        last = max(last, end)
        heapq.heappush(free, (end, node, slot))
    used = math.fsum(lengths)
    return Outcome(last, used / (last * cluster.nodes * cluster.slots), runs / cluster.points, worked / last)


def _deaths(cluster: Cluster, chance: np.random.Generator) -> list[list[float]]:
    """Times at which each node dies, far enough ahead."""
    if math.isinf(cluster.days_to_failure):
        return [[] for _ in range(cluster.nodes)]
    work = cluster.points * (cluster.mean_seconds + cluster.overhead_seconds) / (cluster.nodes * cluster.slots)
    span = 4.0 * work + 86_400.0
    count = int(3 * span / (cluster.days_to_failure * 86_400.0)) + 8
    gaps = chance.exponential(cluster.days_to_failure * 86_400.0, (cluster.nodes, count))
    times: list[list[float]] = np.cumsum(gaps, axis=1).tolist()
    return times


def _next_death(times: list[float], now: float) -> float:
    return next((time for time in times if time >= now), math.inf)
