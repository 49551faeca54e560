"""CUDA's math library: machine code equals the interpreter, and both keep the errors that NVIDIA publishes.

``python -m tests.tracer.cuda_math`` takes 10,000 inputs of each function on every processor instead of the few here.
"""

import math

import numpy as np
import pytest
from scipy import special

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.api import Device
from rayplay.tracer.native.cpu import LEVELS, VARIABLE, level
from tests.tracer.cuda_math.compare import TYPES, Outcome, bits, compare, judge, launch, ulps_between
from tests.tracer.cuda_math.functions import FUNCTIONS, Function
from tests.tracer.cuda_math.inputs import inputs, special_values
from tests.tracer.cuda_math.program import NVCC, compiled, kernels_of
from tests.tracer.cuda_math.reference import expected

BY_NAME = {function.name: function for function in FUNCTIONS}
MERGES_OF_SIGNS = ("fmod", "remainder", "remquo", "nextafter", "copysign", "atan", "asinh")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="nvcc, CUDA's compiler, is not on the path")


@needs_nvcc
@pytest.mark.parametrize("optimisation", ["default", "low"])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_machine_code_equals_the_interpreter_within_the_published_bounds(
    kind: str, optimisation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "host")  # and back: what compares sets it
    device, failures = Device(compiled(kind, optimisation)), []
    for function in kernels_of(kind):
        outcome = compare(device, function, kind, 512, 32, 1, ("host",))
        failures += [] if outcome.holds else [(function.name, outcome.different, outcome.outside[:3])]
    assert not failures


@needs_nvcc
@pytest.mark.parametrize("processor", LEVELS)
def test_functions_that_merge_signs_are_the_same_on_every_processor(
    processor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM's truth tables for AVX-512 gave these wrong signs; see ``tracer/native/ternary_logic.py``."""
    use(processor, monkeypatch)
    device = Device(compiled("float", "default"))
    for name in MERGES_OF_SIGNS:
        outcome = compare(device, BY_NAME[name], "float", 512, 128, 2, (processor,))
        assert outcome.holds, (name, outcome.different, outcome.outside[:3])


@needs_nvcc
@pytest.mark.parametrize("processor", LEVELS)
def test_remainders_whose_answer_is_known(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(processor, monkeypatch)
    device = Device(compiled("float", "default"))
    x, y = (np.array(values, np.float32) for values in zip((7, 2.5), (-7, -2.5), (1, np.inf), (3, -2), strict=True))
    for name, answers in (("fmod", (2, -2, 1, 1)), ("remainder", (-0.5, 0.5, 1, -1)), ("copysign", (7, -7, 1, -3))):
        (found,) = launch(device, BY_NAME[name], "float", [x, y], "machine")
        assert found.tolist() == list(answers), name


def use(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        level(processor)
    except UserError as absent:
        pytest.skip(str(absent))
    monkeypatch.setenv(VARIABLE, processor)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_one_ulp_more_than_the_bound_is_noticed(kind: str) -> None:
    function = BY_NAME["sin"]
    arguments = [np.linspace(0.5, 2.5, 32, dtype=TYPES[kind])]
    (right,) = expected(function, TYPES[kind], arguments)
    for ulps, many in ((2, 0), (3, 32)):
        outcome = Outcome()
        judge(
            outcome, function, kind, 0, arguments, (bits(right) + bits(right).dtype.type(ulps)).view(right.dtype), right
        )
        assert len(outcome.outside) == many
        assert outcome.worst == ulps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ulps_count_the_values_between(dtype: type) -> None:
    values = special_values(dtype)
    finite = values[np.isfinite(values) & (values != 0)]
    assert (ulps_between(values, values) == 0).all()
    with np.errstate(all="ignore"):
        above = np.nextafter(finite, dtype(np.inf))
    assert (ulps_between(finite, above) == 1).all()
    tiny = np.finfo(dtype).smallest_subnormal
    assert ulps_between(np.array([-tiny], dtype), np.array([tiny], dtype)) == 2
    for one, other in ((0.0, -0.0), (np.nan, 1.0), (np.inf, np.nan), (-1.0, 1.0)):
        assert ulps_between(np.array([one], dtype), np.array([other], dtype)) > 10**6


SCIPY = {
    "erfinv": special.erfinv, "erfcinv": special.erfcinv, "erfcx": special.erfcx, "normcdf": special.ndtr,
    "normcdfinv": special.ndtri, "cyl_bessel_i0": special.i0, "cyl_bessel_i1": special.i1,
    "rcbrt": lambda x: 1 / special.cbrt(x),
}  # fmt: skip


@pytest.mark.parametrize("name", SCIPY)
def test_composed_references_are_scipys(name: str) -> None:
    """Within 1e-12, or 1e-15 near zero, and not of subnormal arguments: as far as scipy is right."""
    function = BY_NAME[name]
    values = inputs(function, np.float64, 1000, 3)
    (right,) = expected(function, np.float64, values)
    with np.errstate(all="ignore"):
        theirs = SCIPY[name](values[0])
    fits = np.isfinite(right) & np.isfinite(theirs) & (np.abs(right) > 1e-300) & (np.abs(values[0]) > 1e-300)
    assert fits.sum() > 200
    np.testing.assert_allclose(right[fits], theirs[fits], rtol=1e-12, atol=1e-15)


def test_sines_of_multiples_of_pi() -> None:
    x = np.linspace(-2.25, 2.25, 73)
    sines, cosines = expected(BY_NAME["sincospi"], np.float64, [x])
    np.testing.assert_allclose(sines, [math.sin(math.pi * v) for v in x], atol=1e-14)
    np.testing.assert_allclose(cosines, [math.cos(math.pi * v) for v in x], atol=1e-14)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_inputs_hold_special_values_and_depend_on_the_seed_alone(function: Function) -> None:
    first, again, other = (inputs(function, np.float32, 2000, seed) for seed in (1, 1, 2))
    for one, two in zip(first, again, strict=True):
        assert np.array_equal(bits(one), bits(two))
    assert any(not np.array_equal(bits(one), bits(two)) for one, two in zip(first, other, strict=True))
    specials = bits(special_values(np.float32))
    for values in (each for each in first if each.dtype == np.float32):
        if function.takes == "x":
            assert np.isin(specials, bits(values)).all()
        else:
            assert np.isin(bits(values), specials).mean() > 0.05
