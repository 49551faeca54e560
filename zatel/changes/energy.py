"""Energy of design changes: joules of a whole replay of each design, less the unchanged GPU's.

Static and constant power do not follow a sample's share of the work as events do, so that the whole trace is replayed.
The law is ``replay.energy``'s; a sign holds only where no choice of the RT units' energies turns it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.energy.difference import Charge, Difference, charged
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.changes.whatif import changed
from rayplay.zatel.replays.pool import processes


class EnergyChange(NamedTuple):
    """A change, the energy of its design, and that less the unchanged GPU's."""

    name: str
    charge: Charge
    less: Difference


def energy_changes(
    trace: Trace, gpu: Gpu, changes: Sequence[str], table: str, workers: int = 1
) -> tuple[Charge, list[EnergyChange]]:
    """The energy of the unchanged GPU, and of each of ``changes`` (see ``whatif.changed``), by a table's name or file.

    Errors as in ``changed``, ``rayplay.replay`` and ``rayplay.replay.energy.table.read_table``.
    """
    designs = [gpu, *(changed(gpu, change) for change in changes)]
    workers = min(workers, len(designs))
    if workers == 1:
        found = [charged(trace.path, design, table) for design in designs]
    else:
        with processes(workers, "a design") as pool:
            found = [each.result() for each in [pool.submit(charged, trace.path, one, table) for one in designs]]
    base, *others = found
    return base, [EnergyChange(name, one, one.less(base)) for name, one in zip(changes, others, strict=True)]
