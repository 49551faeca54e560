"""Default modifiers of PTX 1.0 to 1.3: what the parser spells out is what the verifier takes."""

import pytest

from rayplay import ptx
from rayplay.ptx.ir import Module

DEFAULTS = [
    ("rsqrt.f64 %d1, %d2", "rsqrt.approx.f64"),
    ("sqrt.f64 %d1, %d2", "sqrt.rn.f64"),
    ("rcp.f64 %d1, %d2", "rcp.rn.f64"),
    ("div.f64 %d1, %d2, %d2", "div.rn.f64"),
    ("rsqrt.f32 %f1, %f2", "rsqrt.approx.ftz.f32"),
    ("div.f32 %f1, %f2, %f2", "div.approx.ftz.f32"),
    ("mad.f64 %d1, %d2, %d2, %d1", "mad.f64"),
]


@pytest.mark.parametrize(("written", "meant"), DEFAULTS)
@pytest.mark.parametrize("version", ["1.0", "1.3"])
def test_a_default_is_spelled_out_and_verified(version: str, written: str, meant: str) -> None:
    made = module(version, written)
    assert made.functions["k"].body[0].full_opcode == meant
    assert ptx.verify(made) == []


@pytest.mark.parametrize("written", [written for written, meant in DEFAULTS if meant != "mad.f64"])
def test_later_versions_have_no_defaults(written: str) -> None:
    assert module("1.4", written).functions["k"].body[0].full_opcode == written.split()[0]
    assert len(ptx.verify(module("1.4", written))) == 1


def module(version: str, line: str) -> Module:
    head = f".version {version}\n.target sm_11\n"
    return ptx.parse(f"{head}.entry k() {{ .reg .f32 %f<3>; .reg .f64 %d<3>; {line}; exit; }}", "old.ptx")
