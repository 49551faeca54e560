"""Strategies that draw PTX: bodies of functions, which shrink to few statements with low registers."""

from collections.abc import Sequence

from hypothesis import strategies as st


@st.composite
def bodies(draw: st.DrawFn, templates: Sequence[str], registers: int, fewest: int, most: int) -> str:
    """Statements, labelled L0, L1, ...; ``{a}`` to ``{c}`` are numbers of registers, ``{back}`` one of a label.

    A label that ``{back}`` names stands at the statement or before it.
    """
    numbers = st.integers(0, registers - 1)
    statement = st.tuples(st.sampled_from(templates), numbers, numbers, numbers, st.integers(0, most))
    return "\n".join(
        f"L{line}: {template.format(a=a, b=b, c=c, back=back % (line + 1))}"
        for line, (template, a, b, c, back) in enumerate(draw(st.lists(statement, min_size=fewest, max_size=most)))
    )
