"""The functions of CUDA's math library and their published maximum errors.

Source of every bound: NVIDIA, CUDA Programming Guide, 5.5 "Floating-Point Computation"
(docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/mathematical-functions.html), tables of the sections that
each group below names. Until release 12 the same tables were the appendix "Mathematical Functions" of the CUDA C++
Programming Guide. A bound is the largest difference seen, in ulps of the type, between the correctly rounded value and
the function's; where the guide bounds the absolute error instead, so does the row here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Where = Callable[[list[np.ndarray]], np.ndarray]
Ulps = int | Callable[[list[np.ndarray]], np.ndarray]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Bound:
    """``ulps`` where ``where`` holds, ``absolute`` elsewhere; None: the guide states no bound there.

    ``where``, and ``ulps`` if they depend, take the arguments as float64 or integers and give a value for each;
    ``where`` None holds everywhere.
    """

    ulps: Ulps | None
    absolute: float | None = None
    where: Where | None = None


@dataclass(frozen=True)
class Function:
    """One function in both types.

    ``takes`` and ``gives`` spell arguments and results: x the type itself, n int, l long long. ``call`` is CUDA C that
    assigns r0, r1, ... from a, b, c, d; {f} is "f" in float and nothing in double, {p} "f" and "d".
    ``domains``: for float and double, where most inputs of the first argument lie. ``bounds``: float, double; None:
    the function lacks this form.
    """

    name: str
    takes: str
    gives: str
    call: str
    bounds: tuple[Bound | None, Bound | None]
    domains: tuple[Interval, Interval] | None = None


def _row(
    name: str,
    takes: str,
    bounds: tuple[int | Bound | None, int | Bound | None],
    domain: Interval | tuple[Interval, Interval] | None = None,
    gives: str = "x",
    call: str = "",
) -> Function:
    float_bound, double_bound = (Bound(b) if isinstance(b, int) else b for b in bounds)
    made = call or f"r0 = {name}{{f}}({', '.join('abcd'[: len(takes)])});"
    domains = (domain, domain) if domain and not isinstance(domain[0], tuple) else domain
    return Function(name, takes, gives, made, (float_bound, double_bound), domains)  # type: ignore[arg-type]


def _outside(low: float, high: float) -> Where:
    return lambda arguments: (arguments[0] < low) | (arguments[0] > high)


def _below_eight(arguments: list[np.ndarray]) -> np.ndarray:
    return np.abs(arguments[0]) < 8


EXACT = (0, 0)
UNSTATED = (Bound(None), Bound(None))
BESSEL = (Bound(9, 2.2e-6, _below_eight), Bound(7, 5e-12, _below_eight))
# Under 1e-10 NVIDIA's jn gives NaN from order 10 on: its backward recurrence overflows. So does libdevice's __nv_jn
# when LLVM compiles it for the CPU, so that the guide's bound cannot mean these arguments.
JN = tuple(Bound(None, error, lambda a: (a[0] != 128) | (np.abs(a[1]) < 1e-10)) for error in (2.2e-6, 5e-12))
YN = (  # orders 0 and 1 as y0 and y1
    Bound(lambda a: np.where(a[0] < 2, 9, np.ceil(2 + 2.5 * a[0])), 2.2e-6,
          lambda a: np.abs(a[1]) < np.where(a[0] < 2, 8, a[0])),
    Bound(None, 5e-12, lambda a: np.abs(a[1]) <= np.where(a[0] < 2, 8, 1.5 * a[0])),
)  # fmt: skip
EXPONENT = ((-110.0, 95.0), (-760.0, 720.0))
EXPONENT_2 = ((-160.0, 135.0), (-1100.0, 1040.0))
EXPONENT_10 = ((-47.0, 40.0), (-325.0, 310.0))
INTEGRAL = ((-(2.0**25), 2.0**25), (-(2.0**54), 2.0**54))
LONG = ((-(2.0**40), 2.0**40), (-(2.0**62), 2.0**62))
CALL_NORM = "T p[5] = {a, b, c, d, a}; r0 = %s{f}(5, p);"
CLASSES = tuple(
    _row(name, "x", EXACT, gives="n", call=f"r0 = {name}(a) != 0;")
    for name in ("isfinite", "isinf", "isnan", "signbit")
)

OPERATORS = (  # 5.5.6 Built-in arithmetic operators; nvcc's defaults, no fast-math flags
    _row("add", "xx", EXACT, call="r0 = a + b;"),
    _row("multiply", "xx", EXACT, call="r0 = a * b;"),
    _row("divide", "xx", EXACT, call="r0 = a / b;"),
    _row("reciprocal", "x", EXACT, call="r0 = 1 / a;"),
)
BASIC = (  # 5.5.7.1 Basic operations: all 0 ulp
    _row("fabs", "x", EXACT),
    _row("fmod", "xx", EXACT),
    _row("remainder", "xx", EXACT),
    _row("remquo", "xx", EXACT, gives="xn", call="r0 = remquo{f}(a, b, &r1);"),
    _row("fma", "xxx", EXACT),
    _row("fmax", "xx", EXACT),
    _row("fmin", "xx", EXACT),
    _row("fdim", "xx", EXACT),
    _row("nan", "x", EXACT, call='r0 = a + nan{f}("7");'),
)
EXPONENTIAL = (  # 5.5.7.2 Exponential functions; exp10: 5.5.8
    _row("exp", "x", (2, 1), EXPONENT),
    _row("exp2", "x", (2, 1), EXPONENT_2),
    _row("exp10", "x", (2, 1), EXPONENT_10),
    _row("expm1", "x", (1, 1), EXPONENT),
    _row("log", "x", (1, 1), (0.0, 4.0)),
    _row("log10", "x", (2, 1), (0.0, 4.0)),
    _row("log2", "x", (1, 1), (0.0, 4.0)),
    _row("log1p", "x", (1, 1), (-1.0, 3.0)),
)
POWER = (  # 5.5.7.3 Power functions; the others: 5.5.8
    _row("pow", "xx", (4, 2)),
    _row("sqrt", "x", EXACT, (0.0, 4.0)),
    _row("cbrt", "x", (1, 1)),
    _row("hypot", "xx", (3, 2)),
    _row("rsqrt", "x", (2, 1), (0.0, 4.0)),
    _row("rcbrt", "x", (1, 1)),
    _row("rhypot", "xx", (2, 1)),
    _row("norm3d", "xxx", (3, 2)),
    _row("norm4d", "xxxx", (3, 2)),
    _row("rnorm3d", "xxx", (2, 1)),
    _row("rnorm4d", "xxxx", (2, 1)),
    _row("norm", "xxxx", UNSTATED, call=CALL_NORM % "norm"),
    _row("rnorm", "xxxx", UNSTATED, call=CALL_NORM % "rnorm"),
    _row("fdivide", "xx", (0, None), call="r0 = fdividef(a, b);"),
)
TRIGONOMETRIC = (  # 5.5.7.4 Trigonometric functions; of pi x: 5.5.8
    _row("sin", "x", (2, 2), (-200.0, 200.0)),
    _row("cos", "x", (2, 2), (-200.0, 200.0)),
    _row("tan", "x", (4, 2), (-200.0, 200.0)),
    _row("sincos", "x", (2, 2), (-200.0, 200.0), "xx", "sincos{f}(a, &r0, &r1);"),
    _row("asin", "x", (2, 2), (-1.0, 1.0)),
    _row("acos", "x", (2, 2), (-1.0, 1.0)),
    _row("atan", "x", (2, 2), (-8.0, 8.0)),
    _row("atan2", "xx", (3, 2)),
    _row("sinpi", "x", (1, 2), (-50.0, 50.0)),
    _row("cospi", "x", (1, 2), (-50.0, 50.0)),
    _row("sincospi", "x", (1, 2), (-50.0, 50.0), "xx", "sincospi{f}(a, &r0, &r1);"),
)
HYPERBOLIC = (  # 5.5.7.5 Hyperbolic functions
    _row("sinh", "x", (3, 2), EXPONENT),
    _row("cosh", "x", (2, 1), EXPONENT),
    _row("tanh", "x", (2, 1), (-20.0, 20.0)),
    _row("asinh", "x", (3, 3), (-20.0, 20.0)),
    _row("acosh", "x", (4, 3), (1.0, 20.0)),
    _row("atanh", "x", (3, 2), (-1.0, 1.0)),
)
ERROR_AND_GAMMA = (  # 5.5.7.6 Error and gamma functions; inverses, erfcx and normcdf: 5.5.8
    _row("erf", "x", (2, 2), (-6.0, 6.0)),
    _row("erfc", "x", (4, 5), ((-5.0, 11.0), (-7.0, 28.0))),
    _row("tgamma", "x", (5, 10), ((-43.0, 36.0), (-185.0, 172.0))),
    _row("lgamma", "x", (Bound(6, None, _outside(-10.001, -2.264)), Bound(4, None, _outside(-23.0001, -2.2637))),
         (-30.0, 200.0)),
    _row("erfinv", "x", (2, 5), (-1.0, 1.0)),
    _row("erfcinv", "x", (4, 6), (0.0, 2.0)),
    _row("erfcx", "x", (4, 4), ((-10.0, 60.0), (-27.0, 60.0))),
    _row("normcdf", "x", (5, 5), ((-15.0, 7.0), (-39.0, 9.0))),
    _row("normcdfinv", "x", (5, 8), (0.0, 1.0)),
)  # fmt: skip
NEAREST_INTEGER = (  # 5.5.7.7 Nearest integer floating-point operations: all 0 ulp
    *(_row(name, "x", EXACT, INTEGRAL) for name in ("ceil", "floor", "trunc", "round", "nearbyint", "rint")),
    *(_row(name, "x", EXACT, LONG, "l") for name in ("lrint", "llrint", "lround", "llround")),
)
MANIPULATION = (  # 5.5.7.8 Floating-point manipulation functions, 5.5.7.9 Classification: all 0 ulp
    _row("frexp", "x", EXACT, gives="xn", call="r0 = frexp{f}(a, &r1);"),
    _row("ldexp", "xn", EXACT),
    _row("modf", "x", EXACT, INTEGRAL, "xx", "r0 = modf{f}(a, &r1);"),
    _row("scalbn", "xn", EXACT),
    _row("scalbln", "xl", EXACT),
    _row("ilogb", "x", EXACT, gives="n"),
    _row("logb", "x", EXACT),
    _row("nextafter", "xx", EXACT),
    _row("copysign", "xx", EXACT),
    *CLASSES,
)
BESSEL_FUNCTIONS = (  # 5.5.8 Non-standard CUDA mathematical functions
    _row("cyl_bessel_i0", "x", (6, 6), ((-95.0, 95.0), (-720.0, 720.0))),
    _row("cyl_bessel_i1", "x", (6, 6), ((-95.0, 95.0), (-720.0, 720.0))),
    _row("j0", "x", BESSEL, (-40.0, 40.0)),
    _row("j1", "x", BESSEL, (-40.0, 40.0)),
    _row("jn", "nx", JN),  # type: ignore[arg-type]
    _row("y0", "x", BESSEL, (0.0, 40.0)),
    _row("y1", "x", BESSEL, (0.0, 40.0)),
    _row("yn", "nx", YN),
)
ROUNDED = tuple(  # 5.5.9.1 Basic intrinsic functions: all 0 ulp, in each rounding mode
    _row(f"{name}_{mode}", takes, EXACT, call=f"r0 = {call}_{mode}({', '.join('abc'[: len(takes)])});")
    for name, takes, call in (
        ("add", "xx", "__{p}add"), ("sub", "xx", "__{p}sub"), ("mul", "xx", "__{p}mul"), ("fma", "xxx", "__fma{f}"),
        ("div", "xx", "__{p}div"), ("rcp", "x", "__{p}rcp"), ("sqrt", "x", "__{p}sqrt"),
    )
    for mode in ("rn", "rz", "ru", "rd")
)  # fmt: skip


def _fast(name: str, takes: str, bound: Bound, domain: Interval | None = None, gives: str = "x") -> Function:
    call = "__sincosf(a, &r0, &r1);" if len(gives) == 2 else f"r0 = {name}({', '.join('abc'[: len(takes)])});"
    return _row(name, takes, (bound, None), domain, gives, call)


def _beside_one(arguments: list[np.ndarray]) -> np.ndarray:
    return (arguments[0] < 0.5) | (arguments[0] > 2)


# The PTX ISA's bound of sin.approx and cos.approx from -2 pi to 2 pi (9.7.3). The guide has 2^-21.41 from -pi to pi,
# seen, not promised; our unit, fitted to results of hardware, reaches 2^-21.34 at cos(-1.6854712).
IN_A_TURN = Bound(None, 2**-20.5, lambda a: ~(np.abs(a[0]) <= 2 * np.pi))
FAST = (  # 5.5.9.2 Single-precision-only intrinsic functions
    _fast("__fdividef", "xx", Bound(2, None, lambda a: (np.abs(a[1]) >= 2.0**-126) & (np.abs(a[1]) <= 2.0**126))),
    _fast("__frsqrt_rn", "x", Bound(0), (0.0, 4.0)),
    _fast("__expf", "x", Bound(lambda a: 2 + np.floor(np.abs(1.173 * a[0]))), EXPONENT[0]),
    _fast("__exp10f", "x", Bound(lambda a: 2 + np.floor(np.abs(2.97 * a[0]))), EXPONENT_10[0]),
    _fast("__powf", "xx", Bound(None)),
    _fast("__logf", "x", Bound(3, 2**-21.41, _beside_one), (0.0, 4.0)),
    _fast("__log2f", "x", Bound(2, 2**-22, _beside_one), (0.0, 4.0)),
    _fast("__log10f", "x", Bound(3, 2**-24, _beside_one), (0.0, 4.0)),
    _fast("__sinf", "x", IN_A_TURN, (-7.0, 7.0)),
    _fast("__cosf", "x", IN_A_TURN, (-7.0, 7.0)),
    _fast("__sincosf", "x", IN_A_TURN, (-7.0, 7.0), "xx"),
    _fast("__tanf", "x", Bound(None), (-4.0, 4.0)),
    _fast("__tanhf", "x", Bound(2**13), (-20.0, 20.0)),  # a relative error of 2^-11
)
FUNCTIONS = (
    *OPERATORS, *BASIC, *EXPONENTIAL, *POWER, *TRIGONOMETRIC, *HYPERBOLIC, *ERROR_AND_GAMMA, *NEAREST_INTEGER,
    *MANIPULATION, *BESSEL_FUNCTIONS, *ROUNDED, *FAST,
)  # fmt: skip
