"""Exact functions: known values, laws, and the same bits whatever the processor's vector instructions are."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.formats.guard import exact

ROOT = Path(__file__).resolve().parents[3]
PLAIN = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR FMA3 AVX2 F16C AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
PUBLISHED = """
import numpy as np
from rayplay.zatel.paper import regression, released, select, quantise
from rayplay.zatel.sample import intervals, model_error, draw
from rayplay.zatel.changes.noise import noise_floor
from rayplay.zatel.study import summaries, findings
random = np.random.default_rng(1)
found = []
for _ in range(20):
    x, y = np.sort(random.random(3)), random.random(3) * 1e5
    found.append(regression.at_all_pixels(x, y))
    a, b = random.random(24) * 1e6, random.random(24) * 1e6
    found += [*intervals.relative_error_of_ratio(a, b), *intervals.interval(a[0], a[1] / 1e7, 7, 0.01)]
    found += summaries.fit_speedup(1 + 99 * random.random(9), 1 + 50 * random.random(9))
    found += summaries.law_speedup(1 + 99 * random.random(9), (181.0, -1.15)).tolist()
    found += released.colour_shares(random.random(8), 3, 4096).tolist()
    found.append(findings._rank(random.random(7).tolist(), random.random(7).tolist()))
    found += noise_floor([{"m": value} for value in random.random(6)], 3).values()
    found += draw.imbalance(random.random((99, 5)), random.integers(0, 99, (8, 9))).tolist()
picture = quantise.quantise(random.random((16, 16, 3)))
found += [*picture.coldness.tolist(), float(picture.labels.sum())]
print([value.hex() for value in map(float, found)])
"""


def said(**settings: str) -> str:
    """The published numbers, in hexadecimal, as a process with these settings computes them."""
    quiet = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    run = subprocess.run(
        [sys.executable, "-c", PUBLISHED], capture_output=True, text=True, env=os.environ | quiet | settings
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_published_numbers_do_not_depend_on_the_processor() -> None:
    here = said()
    assert len(here) > 1000
    assert said(NPY_DISABLE_CPU_FEATURES=PLAIN) == here
    for kernel in ("Prescott", "Haswell", "Nehalem"):
        assert said(OPENBLAS_CORETYPE=kernel, NPY_DISABLE_CPU_FEATURES=PLAIN) == here
    without = "-AVX_Usable,-AVX2_Usable,-FMA_Usable,-AVX2,-FMA,-AVX512F"
    assert said(GLIBC_TUNABLES=f"glibc.cpu.hwcaps={without}", NPY_DISABLE_CPU_FEATURES=PLAIN) == here


@pytest.mark.parametrize("value", [1e-300, 0.1, 0.5, 1.0, 2.0, math.e, 1e5, 1e300])
def test_they_are_the_functions_they_name(value: float) -> None:
    assert exact.log(value) == pytest.approx(math.log(value), rel=1e-15, abs=1e-300)
    assert exact.exp(exact.log(value)) == pytest.approx(value, rel=1e-12)
    assert exact.power(value, 0.25) == pytest.approx(value**0.25, rel=1e-15)
    assert exact.exp(0.0) == 1.0
    assert exact.power(0.0, 3) == 0.0
    assert exact.length(3.0, 4.0) == 5.0


@given(st.floats(1e-300, 1e300))
def test_powers_of_two_bound_a_value(value: float) -> None:
    assert 2.0 ** exact.floor_log2(value) <= value
    assert 2.0 ** (exact.floor_log2(value) + 1) > value
    assert 2.0 ** exact.ceil_log2(value) >= value
    assert 2.0 ** (exact.ceil_log2(value) - 1) < value


def test_lines_and_correlations() -> None:
    assert exact.line([1, 2, 4], [5, 7, 11]) == (2.0, 3.0)
    assert exact.correlation([1, 2, 3], [-2, -4, -6]) == -1.0
    assert exact.correlation([1, 2, 3, 4], [1, -1, -1, 1]) == 0.0
    assert exact.mean([0.1] * 10) == 0.1
    assert exact.rounded(1.2345678901234567) == 1.23456789012
