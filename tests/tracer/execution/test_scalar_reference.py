"""The .approx instructions give what hardware gave, bit for bit, on both backends."""

from pathlib import Path

import numpy as np
import pytest

from tests.tracer.harness.execution import execute
from tools import sfu_fit

RESULTS = "reference/ptx_approx_f32.csv"
TEXT = """
.visible .entry test(.param .u64 x)
{{
    .reg .b32 %r<3>;
    .reg .f32 %f<3>;
    .reg .b64 %l<3>;
    ld.param.u64 %l1, [x];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r1, %r2, 256, %r1;
    mul.wide.u32 %l2, %r1, 4;
    add.u64 %l1, %l1, %l2;
    ld.global.f32 %f1, [%l1];
    {name}.approx.f32 %f2, %f1;
    st.global.f32 [%l1], %f2;
    ret;
}}
"""


@pytest.mark.parametrize("backend", ["machine", "interpreter"])
@pytest.mark.parametrize("name", ["rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"])
def test_results_of_hardware(data: Path, name: str, backend: str) -> None:
    argument, result = sfu_fit.read_results(data / RESULTS)[name].T
    out = execute(TEXT.format(name=name), [argument.astype(np.uint32)], backend, grid=(8, 1, 1), block=(256, 1, 1))
    assert out.buffers[0].tolist() == result.tolist()
