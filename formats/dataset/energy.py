"""Energy of a replay: joules by launch and component, power over time, and the events that they follow from.

``NAME.energy/`` stands beside ``NAME.result/``, whose manifest's SHA-256 its provenance holds, and has the tables below
as Parquet and a manifest. The same result, trace and table give the same bytes.
"""

from pathlib import Path

from rayplay.formats.dataset.reader import Dataset, open_source
from rayplay.formats.place.location import location
from rayplay.formats.schema.column import STRING, Column, Format, Table

KINDS = ("dynamic", "static", "constant")

TOTALS = Table(
    "totals", "quantity of the whole replay", columns=(
        Column("metric", STRING, "name", "energy, dynamic_energy and the other kinds, power, energy_per_ray, edp, ..."),
        Column("value", "float64", "see unit", "Its value; NaN where it is not defined, such as per ray without rays."),
        Column("low", "float64", "see unit", "The value with every event of the RT units at its least."),
        Column("high", "float64", "see unit", "The value with every event of the RT units at its most."),
        Column("unit", STRING, "name", "Unit of the values: J, W, J*s or s."),
    ),
)  # fmt: skip

ENERGY = Table(
    "energy", "launch, component and kind", columns=(
        Column("kernel_id", "int32", "id", "Launch, as in the result; -1: all, where launches ran side by side."),
        Column("component", STRING, "name", "Component of AccelWattch, such as DCP; RTP: the RT units."),
        Column("unit", STRING, "name", "Unit of the hardware that it belongs to, such as L1."),
        Column("kind", STRING, "name", "What the energy goes with: events, active SMs, or time alone.", values=KINDS),
        Column("joules", "float64", "J", "Energy. All rows sum to the energy of the replay."),
        Column("low_joules", "float64", "J", "The same with every event of the RT units at its least."),
        Column("high_joules", "float64", "J", "The same with every event of the RT units at its most."),
    ),
)  # fmt: skip

POWER = Table(
    "power", "interval of the result's timeline, unit and kind", optional=True, columns=(
        Column("start_cycle", "int64", "cycles", "First cycle of the interval.", sorted=True),
        Column("cycles", "int64", "cycles", "Its length."),
        Column("unit", STRING, "name", "Unit of the hardware, as in energy."),
        Column("kind", STRING, "name", "As in energy.", values=KINDS),
        Column("watts", "float64", "W", "Mean power. Times the length of the intervals it sums to the energy."),
    ),
)  # fmt: skip

EVENTS = Table(
    "events", "launch and event", columns=(
        Column("kernel_id", "int32", "id", "Launch, as in energy."),
        Column("event", STRING, "name", "Counter of AccelWattch, such as DC_RH; box, triangle and record: RT units."),
        Column("count", "float64", "count", "How often it happened, over the whole GPU; PIPE_A in cycles of an SM."),
        Column("origin", STRING, "name", "Where the count is from.", values=("result", "trace", "estimate")),
    ),
)  # fmt: skip

LAUNCHES = Table(
    "launches", "launch", columns=(
        Column("kernel_id", "int32", "id", "Launch, as in energy."),
        Column("seconds", "float64", "s", "Its cycles / core clock."),
        Column("idle_sms", "float64", "count", "SMs without a warp, averaged over its cycles."),
        Column("active_threads", "float64", "count", "Active threads of an instruction of the lane units, averaged."),
        Column("category", STRING, "name", "Static category: the lane units, or the memory, that it used."),
    ),
)  # fmt: skip

ENERGY_FORMAT = Format("rayplay energy", (1, 0), (TOTALS, ENERGY, POWER, EVENTS, LAUNCHES))


def open_energy(path: Path | str) -> Dataset:
    """Open a ``NAME.energy`` folder; ``FormatError`` when it is missing, damaged or of another version."""
    return Dataset(open_source(location(path), ENERGY_FORMAT), ENERGY_FORMAT)
