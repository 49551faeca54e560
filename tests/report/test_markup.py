"""No text becomes markup: any text comes back from a parser as it was."""

from hypothesis import given
from hypothesis import strategies as st

from rayplay.report.markup import Markup, printable, tag
from tests.report.pages import Parsed

HOSTILE_TEXTS = (
    "</script><script>x()</script>", '" onload=x() a="', "'", "<!--", "]]>", "&lt;b&gt;", "\x00\u202e", "<img src=x>",
)  # fmt: skip
HOSTILE = st.one_of(st.text(), st.sampled_from(HOSTILE_TEXTS))


@given(HOSTILE, HOSTILE)
def test_text_and_attributes_come_back(words: str, attribute: str) -> None:
    parsed = Parsed(tag("p", words, data_tip=attribute))
    assert parsed.elements == [("p", {"data-tip": printable(attribute)})]
    assert "".join(text for _, text in parsed.text) == printable(words)
    assert not parsed.open


def test_children_attributes_and_numbers() -> None:
    assert (
        tag("td", None, ["a", 1, ("b", 2.5)], class_="x", hidden=True, lang=None) == '<td class="x" hidden>a1b2.5</td>'
    )
    assert tag("rect", x=1.0, y=2.345, width=0.0) == '<rect x="1" y="2.35" width="0"/>'
    assert tag("p", Markup("<b>x</b>")) == "<p><b>x</b></p>"
