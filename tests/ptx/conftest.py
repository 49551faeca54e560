"""Fixtures of the ptx tests: the programs in ``data/`` and short modules around a few statements."""

from pathlib import Path

import pytest

from rayplay.ptx.ir import Function, Module
from rayplay.ptx.text.parser import parse, parse_file

DATA = Path(__file__).parent / "data"
HEAD = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
	.reg .pred %p<8>;
	.reg .b16 %rs<8>;
	.reg .b32 %r<20>;
	.reg .f32 %f<20>;
	.reg .b64 %rd<20>;
	.reg .f64 %fd<8>;
"""
PROGRAMS = ("compute", "compute_plain", "compute_debug", "rays")


def wrap(body: str) -> str:
    """A module whose entry ``k`` has the usual registers and this body; the body begins on line 12."""
    return f"{HEAD}{body}\n}}\n"


def kernel(body: str) -> Function:
    """The entry of ``wrap(body)``."""
    return parse(wrap(body), "k.ptx").functions["k"]


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Module:
    """Each of the compiled programs in turn."""
    return parse_file(DATA / f"{request.param}.ptx")


@pytest.fixture(name="kernel")
def kernel_fixture():
    return kernel


@pytest.fixture(name="wrap")
def wrap_fixture():
    return wrap


@pytest.fixture
def data_folder() -> Path:
    return DATA
