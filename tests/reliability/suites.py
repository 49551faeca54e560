"""The registry of suites: each is a row of rows in ``docs/reliability.md``."""

from tests.reliability import damage, faults, full_disk, interruption
from tests.reliability.suite import Suite

SUITES: tuple[Suite, ...] = (*damage.SUITES, *interruption.SUITES, *full_disk.SUITES, *faults.SUITES)
