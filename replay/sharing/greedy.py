"""Greedy: no partition. An SM takes a CTA of the first class that has one and fits, in the order of the classes."""

from collections.abc import Sequence
from dataclasses import dataclass

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sharing.plan import Plan, whole_sms
from rayplay.replay.unit.schema import value


@dataclass(frozen=True)
class Spec:
    """No partition."""

    rule: str = value("name", "Which rule divides the GPU", choices=("greedy",))


def plan(spec: Spec, gpu: Gpu, names: Sequence[str]) -> Plan:
    """Every SM for every class."""
    return Plan(whole_sms(gpu.sm, len(names)))
