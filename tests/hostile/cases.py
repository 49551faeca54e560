"""All hostile cases; a new area is a file of cases beside this one, and a name here."""

from tests.hostile import tables, traces
from tests.hostile.verbs import Case

CASES: tuple[Case, ...] = (*traces.CASES, *tables.CASES)
