"""Correctly rounded values of the functions, by MPFR (through gmpy2), with C's and CUDA's special values.

What MPFR has is evaluated in the type's own precision and range, which rounds once. The other functions are composed
of it in 200 bits and rounded then: twice, but the chance that it shows is 2^-140 a value. Special values follow the
C standard's annex F and, for functions C lacks, the text over each declaration in CUDA's ``math_functions.h``.
"""

from collections.abc import Callable

import gmpy2
import numpy as np
from gmpy2 import mpfr
from scipy import special

from tests.tracer.cuda_math.functions import Function

WIDE = gmpy2.context(precision=200, emax=1 << 40, emin=-(1 << 40))
ROUNDINGS = {"_rn": gmpy2.RoundToNearest, "_rz": gmpy2.RoundToZero, "_ru": gmpy2.RoundUp, "_rd": gmpy2.RoundDown}
NAN, INF = gmpy2.nan(), gmpy2.inf()
INT_MAX, INT_MIN = (1 << 31) - 1, -(1 << 31)


def expected(function: Function, dtype: type, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """One array a result: values of ``dtype`` correctly rounded, or int64 for integers."""
    if function.name in OF_BITS:
        with np.errstate(all="ignore"):
            found = OF_BITS[function.name](*arguments)
        return [found.astype(np.int64) if function.gives == "n" else found]
    name, mode = function.name, gmpy2.RoundToNearest
    if name[-3:] in ROUNDINGS and not name.startswith("__"):
        name, mode = f"{name[:-3]}_", ROUNDINGS[name[-3:]]
    evaluate = EXACT.get(name) or COMPOSED[name]
    narrow = gmpy2.ieee(8 * np.dtype(dtype).itemsize)
    rows = []
    columns = [values.astype(np.float64) if values.dtype.kind == "f" else values for values in arguments]
    with gmpy2.context(narrow, round=mode) if name in EXACT else gmpy2.context(WIDE):
        for row in zip(*(values.tolist() for values in columns), strict=True):
            value = evaluate(*(mpfr(each) if isinstance(each, float) else each for each in row))
            rows.append(value if isinstance(value, tuple) else (value,))
    with gmpy2.context(narrow):
        return [
            np.array([float(mpfr(v)) for v in values], dtype) if kind == "x" else np.array(values, np.int64)
            for values, kind in zip(zip(*rows, strict=True), function.gives, strict=True)
        ]


def _modf(x: mpfr) -> tuple[mpfr, mpfr]:
    whole = gmpy2.rint_trunc(x)
    part = mpfr(0) if gmpy2.is_infinite(x) else x - whole
    return gmpy2.copy_sign(part, x), whole


def _frexp(x: mpfr) -> tuple[mpfr, int]:
    if not gmpy2.is_finite(x) or not x:
        return x, 0
    return (lambda exponent, mantissa: (mantissa, exponent))(*gmpy2.frexp(x))


def _ilogb(x: mpfr) -> int:
    if gmpy2.is_infinite(x):
        return INT_MAX
    return INT_MIN if gmpy2.is_nan(x) or not x else gmpy2.get_exp(x) - 1


def _logb(x: mpfr) -> mpfr:
    if not gmpy2.is_finite(x):
        return x * x
    return mpfr(gmpy2.get_exp(x) - 1) if x else -INF


def _scaled(x: mpfr, power: int) -> mpfr:
    power = max(min(power, 5000), -5000)
    return gmpy2.mul_2exp(x, power) if power >= 0 else gmpy2.div_2exp(x, -power)


def _rounded(x: mpfr, way: Callable[[mpfr], mpfr]) -> int:
    """0 where the result does not fit, which is compared nowhere."""
    return int(way(x)) if gmpy2.is_finite(x) and abs(x) < 2**63 else 0


def _remquo(x: mpfr, y: mpfr) -> tuple[mpfr, int]:
    """The quotient's sign and its last three bits, which is what C promises."""
    rest = gmpy2.remainder(x, y)
    if gmpy2.is_nan(rest):
        return rest, 0
    if gmpy2.is_infinite(y) or not x:
        return rest, 0
    with gmpy2.context(precision=2400, emax=1 << 40, emin=-(1 << 40)):
        quotient = int((x - rest) / y)
    return rest, (abs(quotient) & 7) * (1 if quotient >= 0 else -1)


def _gamma(x: mpfr) -> mpfr:
    if (x < 0 and gmpy2.is_integer(x)) or x == -INF:
        return NAN
    return gmpy2.gamma(x)


def _lgamma(x: mpfr) -> mpfr:
    if gmpy2.is_infinite(x) or (x <= 0 and gmpy2.is_integer(x)):
        return INF
    return gmpy2.lgamma(x)[0]


def _order(evaluate: Callable[[int, mpfr], mpfr]) -> Callable[[int, mpfr], mpfr]:
    """Bessel functions of negative order are NaN in CUDA."""
    return lambda n, x: NAN if n < 0 else evaluate(n, x)


def _rsqrt(x: mpfr) -> mpfr:
    return gmpy2.rec_sqrt(x) if x else gmpy2.copy_sign(INF, x)


def _sinpi(x: mpfr) -> mpfr:
    if not gmpy2.is_finite(x):
        return NAN
    rest = gmpy2.remainder(x, 2)
    if abs(rest) > 0.5:
        rest = gmpy2.copy_sign(1 - abs(rest), rest)
    return gmpy2.sin(gmpy2.const_pi() * rest) if rest else gmpy2.copy_sign(mpfr(0), x)


def _cospi(x: mpfr) -> mpfr:
    if not gmpy2.is_finite(x):
        return NAN
    rest = 0.5 - abs(gmpy2.remainder(x, 2))
    return gmpy2.sin(gmpy2.const_pi() * rest) if rest else mpfr(0)


def _root_of_squares(*values: mpfr) -> mpfr:
    if any(map(gmpy2.is_infinite, values)):
        return INF
    return gmpy2.sqrt(sum((v * v for v in values), mpfr(0)))


def _inverse(evaluate: Callable[..., mpfr]) -> Callable[..., mpfr]:
    def inverse(*values: mpfr) -> mpfr:
        root = evaluate(*values)
        return gmpy2.copy_sign(INF, root) if root == 0 else 1 / root

    return inverse


def _erfcx(x: mpfr) -> mpfr:
    """Its first terms for large arguments, where the power of e would need more bits."""
    if x == INF or gmpy2.is_nan(x):
        return 1 / x
    if x < -30:
        return INF
    if x < 4096:
        return gmpy2.exp(x * x) * gmpy2.erfc(x)
    square, term, total = 2 * x * x, mpfr(1), mpfr(1)
    for k in range(1, 12):
        term *= -(2 * k - 1) / square
        total += term
    return total / (x * gmpy2.sqrt(gmpy2.const_pi()))


def _erfinv(y: mpfr) -> mpfr:
    """Newton's steps from scipy's double; close to an end from ``_erfcinv`` of the distance to it."""
    if not abs(y) < 1 or not y:
        return NAN if not abs(y) <= 1 else y / (1 - abs(y))
    if abs(y) > 0.5:
        return gmpy2.copy_sign(_erfcinv(1 - abs(y)), y)
    half = gmpy2.sqrt(gmpy2.const_pi()) / 2
    x = mpfr(float(special.erfinv(float(y)))) if abs(y) > 1e-6 else y * half
    for _ in range(3):
        x -= (gmpy2.erf(x) - y) * half * gmpy2.exp(x * x)
    return x


def _erfcinv(z: mpfr) -> mpfr:
    if not 0 < z < 2:
        return INF if z == 0 else -INF if z == 2 else NAN
    if z > 0.5:
        return _erfinv(1 - z) if z < 1.5 else -_erfcinv(2 - z)
    x, slope = mpfr(float(special.erfcinv(float(z))) if z > 1e-300 else 26.5), -2 / gmpy2.sqrt(gmpy2.const_pi())
    for _ in range(3 if z > 1e-300 else 6):  # of the logarithm, whose slope hardly changes
        value = gmpy2.erfc(x)
        x -= gmpy2.log(value / z) * value / (slope * gmpy2.exp(-x * x))
    return x


def _normcdf(x: mpfr) -> mpfr:
    return gmpy2.erfc(-x / gmpy2.sqrt(mpfr(2))) / 2


def _normcdfinv(p: mpfr) -> mpfr:
    return -gmpy2.sqrt(mpfr(2)) * _erfcinv(2 * p) if p != 0.5 else mpfr(0)


def _bessel_i(order: int, x: mpfr) -> mpfr:
    """The power series to 60, where no term cancels another, and Hankel's series beyond, where they fall to 2^-170."""
    if gmpy2.is_nan(x) or not x:
        return 1 + x if order == 0 else x
    size, sign = abs(x), x if order else mpfr(1)
    if size > 1000:
        return gmpy2.copy_sign(INF, sign)
    if size < 60:
        term = total = (size / 2) ** order
        k = 0
        while term > gmpy2.div_2exp(total, 190):
            k += 1
            term *= size * size / (4 * k * (k + order))
            total += term
        return gmpy2.copy_sign(total, sign)
    term = total = mpfr(1)
    for k in range(1, 100):
        term *= -(4 * order * order - (2 * k - 1) ** 2) / (8 * k * size)
        total += term
    return gmpy2.copy_sign(gmpy2.exp(size) / gmpy2.sqrt(2 * gmpy2.const_pi() * size) * total, sign)


OF_BITS: dict[str, Callable] = {  # numpy's, since MPFR's NaN has no sign
    "copysign": np.copysign, "nextafter": np.nextafter, "signbit": np.signbit
}  # fmt: skip
EXACT: dict[str, Callable] = {
    "add": gmpy2.add, "multiply": gmpy2.mul, "divide": gmpy2.div, "reciprocal": lambda x: gmpy2.div(mpfr(1), x),
    "fabs": abs, "fmod": gmpy2.fmod, "remainder": gmpy2.remainder, "remquo": _remquo, "fma": gmpy2.fma,
    "fmax": gmpy2.maxnum, "fmin": gmpy2.minnum, "nan": lambda x: NAN, "fdivide": gmpy2.div,
    "fdim": lambda x, y: gmpy2.sub(x, y) if not x <= y else mpfr(0),
    "exp": gmpy2.exp, "exp2": gmpy2.exp2, "exp10": gmpy2.exp10, "expm1": gmpy2.expm1,
    "log": gmpy2.log, "log10": gmpy2.log10, "log2": gmpy2.log2, "log1p": gmpy2.log1p,
    "pow": lambda x, y: x**y, "sqrt": gmpy2.sqrt, "cbrt": gmpy2.cbrt, "hypot": gmpy2.hypot,
    "rsqrt": _rsqrt,
    "sin": gmpy2.sin, "cos": gmpy2.cos, "tan": gmpy2.tan, "sincos": gmpy2.sin_cos,
    "asin": gmpy2.asin, "acos": gmpy2.acos, "atan": gmpy2.atan, "atan2": gmpy2.atan2,
    "sinh": gmpy2.sinh, "cosh": gmpy2.cosh, "tanh": gmpy2.tanh,
    "asinh": gmpy2.asinh, "acosh": gmpy2.acosh, "atanh": gmpy2.atanh,
    "erf": gmpy2.erf, "erfc": gmpy2.erfc, "tgamma": _gamma, "lgamma": _lgamma,
    "ceil": gmpy2.rint_ceil, "floor": gmpy2.rint_floor, "trunc": gmpy2.rint_trunc,
    "round": gmpy2.rint_round, "nearbyint": gmpy2.rint, "rint": gmpy2.rint,
    "lrint": lambda x: _rounded(x, gmpy2.rint), "llrint": lambda x: _rounded(x, gmpy2.rint),
    "lround": lambda x: _rounded(x, gmpy2.rint_round), "llround": lambda x: _rounded(x, gmpy2.rint_round),
    "frexp": _frexp, "ldexp": _scaled, "scalbn": _scaled, "scalbln": _scaled, "modf": _modf,
    "ilogb": _ilogb, "logb": _logb,
    "isfinite": lambda x: int(gmpy2.is_finite(x)), "isinf": lambda x: int(gmpy2.is_infinite(x)),
    "isnan": lambda x: int(gmpy2.is_nan(x)),
    "j0": gmpy2.j0, "j1": gmpy2.j1, "y0": gmpy2.y0, "y1": gmpy2.y1,
    "jn": _order(gmpy2.jn), "yn": _order(gmpy2.yn),
    "add_": gmpy2.add, "sub_": gmpy2.sub, "mul_": gmpy2.mul, "div_": gmpy2.div, "fma_": gmpy2.fma,
    "rcp_": lambda x: gmpy2.div(mpfr(1), x), "sqrt_": gmpy2.sqrt,
    "__fdividef": gmpy2.div, "__frsqrt_rn": _rsqrt, "__expf": gmpy2.exp, "__exp10f": gmpy2.exp10,
    "__powf": lambda x, y: x**y, "__logf": gmpy2.log, "__log2f": gmpy2.log2, "__log10f": gmpy2.log10,
    "__sinf": gmpy2.sin, "__cosf": gmpy2.cos, "__sincosf": gmpy2.sin_cos, "__tanf": gmpy2.tan, "__tanhf": gmpy2.tanh,
}  # fmt: skip
COMPOSED: dict[str, Callable] = {
    "rcbrt": _inverse(gmpy2.cbrt), "rhypot": _inverse(gmpy2.hypot),
    "norm3d": _root_of_squares, "norm4d": _root_of_squares,
    "norm": lambda *p: _root_of_squares(*p, p[0]),
    "rnorm3d": _inverse(_root_of_squares), "rnorm4d": _inverse(_root_of_squares),
    "rnorm": _inverse(lambda *p: _root_of_squares(*p, p[0])),
    "sinpi": _sinpi, "cospi": _cospi, "sincospi": lambda x: (_sinpi(x), _cospi(x)),
    "erfinv": _erfinv, "erfcinv": _erfcinv, "erfcx": _erfcx, "normcdf": _normcdf, "normcdfinv": _normcdfinv,
    "cyl_bessel_i0": lambda x: _bessel_i(0, x), "cyl_bessel_i1": lambda x: _bessel_i(1, x),
}  # fmt: skip
