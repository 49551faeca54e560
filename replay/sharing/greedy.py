"""Greedy: no partition. An SM takes a CTA of the first class that has one and fits, in the order of the classes."""

from dataclasses import dataclass

from rayplay.replay.gpu.description import Gpu
from rayplay.replay.sharing.plan import Plan, Work, whole_sms
from rayplay.replay.unit.schema import value


@dataclass(frozen=True)
class Spec:
    """No partition."""

    rule: str = value("name", "Which rule divides the GPU", choices=("greedy",))


def plan(spec: Spec, gpu: Gpu, work: Work) -> Plan:
    """Every SM for every class."""
    return Plan(whole_sms(gpu.sm, len(work.names)))
