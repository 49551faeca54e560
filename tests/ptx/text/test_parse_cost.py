"""Cost of reading: a number of calls that grows with the text alone, and a table that is kept between runs."""

import sys

import pytest

from rayplay.ptx.text.parser import parse


def calls_to_parse(text: str) -> int:
    count = 0

    def profile(frame, event, argument) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        parse(text, "x")
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("statement", [
    "add.s32 %r1, %r2, 3;\n", "{ .reg .b32 %r1; mov.u32 %r1, 0; bra L; L: }\n", "// comment /* \n", "{ ",
    ".local .u32 v{n}[2] = {{1, 2}};\n", "L{n}: @%p1 bra L{n};\n",
])  # fmt: skip
def test_reading_is_linear(wrap, statement) -> None:
    """Counted, not timed: each further statement costs the same number of calls."""
    closing = "}" if statement == "{ " else ""

    def cost(count: int) -> int:
        body = "".join(statement.replace("{n}", str(n)).replace("{{", "{").replace("}}", "}") for n in range(count))
        return calls_to_parse(wrap(body + closing * count))

    cost(1)  # whatever happens once per process
    first, second, third = cost(400), cost(800), cost(1200)
    assert third - second <= 1.02 * (second - first) + 10


def test_the_cached_table_is_rebuilt_when_damaged(tmp_path, monkeypatch, capsys, wrap) -> None:
    monkeypatch.setenv("RAYPLAY_CACHE", str(tmp_path))
    first = parse(wrap("ret;"), "x")
    (kept,) = tmp_path.glob("sealed/ptx-grammar-*.json")
    kept.write_text("{}")
    assert parse(wrap("ret;"), "x") == first
    assert f"{kept}: is damaged" in capsys.readouterr().err
    kept.unlink()
    kept.parent.chmod(0o500)
    assert parse(wrap("ret;"), "x") == first
    kept.parent.chmod(0o700)
