"""All hostile cases; a new area is a file of cases beside this one, and a name here."""

from tests.hostile import exchange, gpus, motion, outputs, programs, reports, scenes, tables, traces
from tests.hostile.verbs import Case

CASES: tuple[Case, ...] = (
    *traces.CASES, *tables.CASES, *exchange.CASES, *outputs.CASES, *scenes.CASES, *programs.CASES, *gpus.CASES,
    *motion.CASES, *reports.CASES,
)  # fmt: skip
