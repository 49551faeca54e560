"""``python -m formats compare``: how values are printed."""

import pytest

from rayplay.formats.look.compare import shown_value


@pytest.mark.parametrize(("value", "text"), [
    (7_648_832, "7,648,832"), (7_648_832.0, "7,648,832"), (0, "0"), (123_456_789_012, "123,456,789,012"),
    (2**63, "9,223,372,036,854,775,808"), (1e300, "1e+300"), (0.123456789, "0.123457"), (1234567.25, "1.23457e+06"),
    (-3, "-3"), (None, "undefined"),
])  # fmt: skip
def test_whole_numbers_keep_all_digits(value: float | None, text: str) -> None:
    assert shown_value(value) == text
