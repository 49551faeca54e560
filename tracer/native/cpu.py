"""The processor that machine code is made for: this one, or a named level of x86-64 that this one can run."""

import os
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from rayplay.formats.guard.errors import UserError

VARIABLE = "RAYPLAY_CPU"
LEVELS = {  # LLVM's processor, and the feature that only processors of the level have
    "generic": ("x86-64", "sse2"),
    "avx2": ("x86-64-v3", "avx2"),
    "avx512": ("x86-64-v4", "avx512vl"),
}


@dataclass(frozen=True)
class Cpu:
    """LLVM's name of a processor, and what it has beyond or short of that: ``+avx2,-avx512f``."""

    name: str
    features: str = ""

    def machine(self, level: int = 2) -> llvm.TargetMachine:
        """A new one each time: an execution engine takes its target machine with it when it goes.

        level  how hard LLVM optimises, 0 to 3.
        """
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple()
        return target.create_target_machine(cpu=self.name, features=self.features, opt=level, jit=True)

    def without(self, feature: str) -> "Cpu":
        """The same processor without a feature and all that build on it."""
        return Cpu(self.name, f"{self.features},-{feature}".lstrip(","))


@cache
def host() -> Cpu:
    """This processor with everything it has."""
    return Cpu(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def level(name: str) -> Cpu:
    """A level of ``LEVELS``. Raises ``UserError`` for another name, and where this processor cannot run it."""
    if name not in LEVELS:
        raise UserError(f"{VARIABLE}: must be one of host, {', '.join(LEVELS)}, found {name!r}")
    cpu, feature = LEVELS[name]
    if not llvm.get_host_cpu_features().get(feature):
        raise UserError(f"{VARIABLE}: this processor cannot run {name!r}: it has no {feature}")
    return Cpu(cpu)


def chosen() -> Cpu:
    """The processor of ``RAYPLAY_CPU``, this one where it is not set."""
    name = os.environ.get(VARIABLE) or "host"
    return host() if name == "host" else level(name)
