"""Classification of opcodes missing from every table."""

from pathlib import Path

import pytest

from rayplay.formats import open_trace
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.exchange.accelsim.static import ACCEL_SIM_CLASSES, Policy
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.schema.trace import OPERATION_CLASSES
from tests.formats.exchange.accelsim.test_import import BODY, write


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ALU", "move"), ("SP", "fp32"), ("dp", "fp64"), ("INT", "int"), ("Load", "load"), ("TENSOR", "matrix"),
     ("FP64", "fp64"), ("texture", "texture")],
)  # fmt: skip
def test_unknown_opcodes_take_a_class_by_its_name_here_or_in_accel_sim(
    tmp_path: Path, name: str, expected: str
) -> None:
    import_accelsim(write(tmp_path, BODY.replace("FFMA", "XYZZY")), tmp_path / "a.trace", f"class={name}")
    assert open_trace(tmp_path / "a.trace").read("instructions")["operation_class"][3] == expected


def test_every_name_leads_to_a_class_and_another_is_refused_with_all() -> None:
    assert set(ACCEL_SIM_CLASSES.values()) <= set(OPERATION_CLASSES)
    for unknown in ("class=ALUX", "class=", "ALU", "int", "warning"):
        with pytest.raises(FormatError) as caught:
            Policy(unknown)
        message = str(caught.value)
        assert message.endswith(f"not {unknown}")
        assert all(name in message for name in (*OPERATION_CLASSES, *map(str.upper, ACCEL_SIM_CLASSES)))
