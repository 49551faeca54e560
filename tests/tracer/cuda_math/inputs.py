"""Inputs of the functions: special values, random bits, and values where the function is neither flat nor infinite."""

import numpy as np

from tests.tracer.cuda_math.functions import Function, Interval

MOST_ORDER = 128  # of a Bessel function
WARP = 32


def inputs(function: Function, dtype: type, count: int, seed: int) -> list[np.ndarray]:
    """``count`` values of each argument: dtype, int32 or int64, as ``function.takes`` spells them."""
    rng = np.random.default_rng([seed, *function.name.encode(), np.dtype(dtype).itemsize])
    made = [_argument(function, kind, rng, dtype, count) for kind in function.takes]
    floating = [values for values, kind in zip(made, function.takes, strict=True) if kind == "x"]
    if function.name == "pow":
        _spread_powers(rng, *floating)
    elif len(floating) > 1:
        _relate(rng, *floating[:2])
    return made


def special_values(dtype: type) -> np.ndarray:
    """Zeros, subnormals, infinities, NaN, extremes, halves, neighbours of integers, multiples of pi / 2; both signs."""
    info = np.finfo(dtype)
    small = [0.0, info.smallest_subnormal, 3 * float(info.smallest_subnormal), info.smallest_normal, info.eps]
    with np.errstate(over="ignore"):
        below = np.nextafter(dtype(info.smallest_normal), dtype(0))
        large = np.array([info.max, info.max / 2, np.inf, np.nan, below], dtype)
    powers = [2.0**p for p in (-30, -12, 12, 22, 23, 24, 31, 32, 51, 52, 53, 62, 63, 64)]
    plain = [0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 7, 8, 10, 23, 100, 1000, *small, *powers]
    angles = np.array([n * np.pi / 2 for n in (0.5, 1, 2, 3, 4, 5, 10, 101, 2**20)])
    base = np.concatenate([np.array(plain), angles]).astype(dtype)
    around = [np.nextafter(base, dtype(to)) for to in (0, np.inf)]
    every = np.concatenate([base, *around, large])
    return np.unique(np.concatenate([every, -every]).view(f"u{info.bits // 8}")).view(dtype)


def _argument(function: Function, kind: str, rng: np.random.Generator, dtype: type, count: int) -> np.ndarray:
    if kind != "x":
        return _integers(function, rng, dtype, count)
    domains = function.domains
    domain = domains[dtype is np.float64] if domains else None
    special, bits = special_values(dtype), _random_bits(rng, dtype, count)
    near = _in_domain(rng, domain, count) if domain else _moderate(rng, dtype, count)
    with np.errstate(over="ignore"):
        made = near.astype(dtype)
    choice = rng.random(count)
    made = np.where(choice < 0.2, bits, made)
    pieces = _near_integers(rng, dtype, count)
    made = np.where((choice >= 0.2) & (choice < 0.3), pieces, made)
    if len(function.takes) == 1:  # every special value once, where they fit
        head = min(len(special), count // 2)
        made[:head] = rng.permutation(special)[:head]
        return rng.permutation(made)
    return np.where(rng.random(count) < 0.35, rng.choice(special, count), made)


def _integers(function: Function, rng: np.random.Generator, dtype: type, count: int) -> np.ndarray:
    """Orders of Bessel functions, one a warp for the interpreter's sake, or exponents and extremes."""
    if function.takes[0] == "n":
        orders = np.where(rng.random(count) < 0.25, MOST_ORDER, rng.integers(-2, MOST_ORDER + 1, count))
        return np.repeat(orders, WARP)[:count].astype(np.int32)
    wide = np.int32 if "n" in function.takes else np.int64
    reach = 350 if dtype is np.float32 else 2300
    extremes = rng.choice([0, 1, -1, np.iinfo(wide).max, np.iinfo(wide).min, 1 << 20, -(1 << 20)], count)
    return np.where(rng.random(count) < 0.1, extremes, rng.integers(-reach, reach, count)).astype(wide)


def _random_bits(rng: np.random.Generator, dtype: type, count: int) -> np.ndarray:
    """Any bit pattern; every NaN is a quiet one, since hardware does not keep its payload."""
    unsigned = np.uint32 if dtype is np.float32 else np.uint64
    made = rng.integers(0, np.iinfo(unsigned).max, count, unsigned, endpoint=True).view(dtype)
    return np.where(np.isnan(made), dtype(np.nan), made)


def _in_domain(rng: np.random.Generator, domain: Interval, count: int) -> np.ndarray:
    """A third uniform, a third close to the edges of the domain, a third with logarithms spread evenly."""
    low, high = domain
    uniform, kind = rng.uniform(low, high, count), rng.integers(0, 3, count)
    step = (high - low) * 10.0 ** -rng.uniform(0, 12, count)
    edges = np.where(rng.random(count) < 0.5, low + step, high - step)
    reach = max(abs(low), abs(high)) * 10.0 ** -rng.uniform(0, 20, count)
    signed = np.where(rng.random(count) < 0.5, -reach, reach)
    spread = np.where((signed < low) | (signed > high), reach, signed)
    return np.choose(kind, [uniform, edges, spread])


def _moderate(rng: np.random.Generator, dtype: type, count: int) -> np.ndarray:
    """Logarithms spread evenly, half of them from 1e-3 to 1e3 and half over the whole type."""
    widest = np.log10(float(np.finfo(dtype).max))
    reach = np.where(rng.random(count) < 0.5, 3.0, widest - 0.1)
    return np.where(rng.random(count) < 0.5, -1, 1) * 10.0 ** (reach * rng.uniform(-1, 1, count))


def _near_integers(rng: np.random.Generator, dtype: type, count: int) -> np.ndarray:
    """Integers, halves, quarters, multiples of pi / 2, and their neighbours."""
    whole = rng.integers(-1000, 1000, count)
    unit = rng.choice([1.0, 0.5, 0.25, np.pi / 2], count)
    made = (whole * unit).astype(dtype)
    toward = rng.choice(np.array([-np.inf, np.inf], dtype), count)
    return np.where(rng.random(count) < 0.5, made, np.nextafter(made, toward))


def _relate(rng: np.random.Generator, x: np.ndarray, y: np.ndarray) -> None:
    """Make a fifth of the pairs close: x is y, its neighbour, a multiple of it or a fraction.

    In three warps of four the others have like exponents, since a remainder takes a step for each bit between them.
    """
    dtype, count = x.dtype.type, len(x)
    with np.errstate(over="ignore", invalid="ignore"):
        like = np.ldexp(np.frexp(y)[0], np.frexp(x)[1] + rng.integers(-40, 40, count)).astype(dtype)
        chosen = np.repeat(rng.random(count) < 0.75, WARP)[:count]
        y[:] = np.where(chosen & (x != 0) & np.isfinite(x) & np.isfinite(y), like, y)
        scales = rng.uniform(1, 4096, count), rng.uniform(0.5, 2, count), np.full(count, 3), np.full(count, 0.25)
        ways = [y, -y, np.nextafter(y, dtype(np.inf)), *(y * scale.astype(dtype) for scale in scales)]
        related = np.choose(rng.integers(0, len(ways), count), ways)
    x[:] = np.where(rng.random(count) < 0.2, related, x)


def _spread_powers(rng: np.random.Generator, x: np.ndarray, y: np.ndarray) -> None:
    """Make most powers finite: y is a random part of the range of the type over the logarithm of x."""
    count = len(x)
    info = np.finfo(x.dtype)
    with np.errstate(all="ignore"):
        base = np.where(rng.random(count) < 0.3, 1 + rng.normal(0, 0.01, count), np.abs(x))
        least, most = np.log(float(info.smallest_subnormal)) * 1.05, np.log(float(info.max)) * 1.05
        power = (rng.uniform(least, most, count) / np.log(base.astype(np.float64))).astype(x.dtype)
    chosen = (rng.random(count) < 0.6) & np.isfinite(power)
    x[:], y[:] = np.where(chosen, base.astype(x.dtype), x), np.where(chosen, power, y)
    whole = rng.random(count) < 0.05
    with np.errstate(over="ignore"):
        x[:], y[:] = np.where(whole, -np.abs(x), x), np.where(whole, np.rint(y), y)
