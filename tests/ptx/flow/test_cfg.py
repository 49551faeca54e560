"""Blocks and reconvergence: golden graphs, laws on every program, and networkx on random graphs."""

from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.cfg import build, ends_block
from rayplay.ptx.graph import END, immediate_post_dominators
from rayplay.ptx.show import cfg_dot, cfg_lines
from rayplay.ptx.text.parser import parse_file


@pytest.mark.parametrize("name", ["compute_plain", "rays"])
def test_golden_graphs(name, data_folder: Path, golden) -> None:
    module = parse_file(data_folder / f"{name}.ptx")
    lines = [line for f in module.functions.values() if not f.is_declaration for line in cfg_lines(f)]
    golden(data_folder / f"{name}.cfg.txt", "\n".join(lines) + "\n")


def test_blocks_cover_every_program(program) -> None:
    for function in program.functions.values():
        cfg = build(function)
        first = 0
        for block in cfg.blocks:
            assert block.first == first
            assert block.count >= 1
            assert not any(ends_block(i) for i in function.body[first : first + block.count - 1])
            assert block.successors or block.leaves
            first += block.count
        assert first == len(function.body)
        starts = {block.first for block in cfg.blocks}
        for instruction in function.body:
            if instruction.opcode == "bra":
                assert function.labels[instruction.operands[0].name] in starts


@pytest.mark.parametrize(("body", "blocks", "successors", "meets"), [
    ("mov.u32 %r1, 0; ret;", [2], [()], [END]),
    ("@%p1 bra A; mov.u32 %r1, 0; A: ret;", [1, 1, 1], [(2, 1), (2,), ()], [2, 2, END]),
    ("@%p1 ret; mov.u32 %r1, 0; ret;", [1, 2], [(1,), ()], [END, END]),
    ("A: bar.sync 0; @%p1 bra A; exit;", [1, 1, 1], [(1,), (0, 2), ()], [1, 2, END]),
    ("bar.warp.sync -1; barrier.sync 0; ret;", [2, 1], [(1,), ()], [1, END]),
    ("A: bra A;", [1], [(0,)], [END]),
    ("call (%r1), _optix_get_launch_index_x, (); call _optix_ignore_intersection, (); ret;", [2, 1], [(), ()],
     [END, END]),
    ("@%p1 call _optix_ignore_intersection, (); ret;", [1, 1], [(1,), ()], [END, END]),
    ("call (%r1), _optix_trace_0, (); call f, (); trap; ret;", [1, 1, 1, 1], [(1,), (2,), (), ()], [1, 2, END, END]),
    ("l: .branchtargets A, B, A; brx.idx %r1, l; A: mov.u32 %r1, 0; B: ret;", [1, 1, 1], [(1, 2), (2,), ()],
     [2, 2, END]),
])  # fmt: skip
def test_where_blocks_end(kernel, body, blocks, successors, meets) -> None:
    cfg = build(kernel(body))
    assert [b.count for b in cfg.blocks] == blocks
    assert [b.successors for b in cfg.blocks] == successors
    assert list(cfg.reconvergence) == meets


def test_a_label_that_is_not_there(kernel) -> None:
    with pytest.raises(UserError, match=r"line 12: 'bra NOWHERE;' branches to 'NOWHERE', which is not a label"):
        build(kernel("bra NOWHERE;"))


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[tuple[int, ...], bool]]:
    """Nodes with up to two successors; a node without one, and some others, lead to the end."""
    size = draw(st.integers(1, 24))
    successors = st.lists(st.integers(0, size - 1), max_size=2, unique=True).map(tuple)
    nodes = draw(st.lists(st.tuples(successors, st.booleans()), min_size=size, max_size=size))
    return [(targets, leaves or not targets) for targets, leaves in nodes]


@settings(max_examples=120, deadline=None)
@given(graphs())
def test_post_dominators_are_those_of_networkx(graph) -> None:
    made = immediate_post_dominators(graph)
    reverse = networkx.DiGraph()
    reverse.add_nodes_from([END, *range(len(graph))])
    reverse.add_edges_from((target, node) for node, (targets, _) in enumerate(graph) for target in targets)
    reverse.add_edges_from((END, node) for node, (_, leaves) in enumerate(graph) if leaves)
    while stuck := set(range(len(graph))) - networkx.descendants(reverse, END):
        reverse.add_edge(END, max(stuck))
    expected = networkx.immediate_dominators(reverse, END)
    assert list(made) == [expected[node] for node in range(len(graph))]


def test_a_deep_chain_needs_no_recursion() -> None:
    size = 20_000
    chain = [((node + 1,), False) for node in range(size - 1)] + [((), True)]
    assert immediate_post_dominators(chain) == (*range(1, size), END)


def test_dot_is_a_graph(kernel) -> None:
    text = "\n".join(cfg_dot(kernel("@%p1 bra A; mov.u32 %r1, 0; A: ret;")))
    assert text.startswith('digraph "k" {')
    assert "  0 -> 2;\n  0 -> 1;" in text
    assert "0 -> 2 [style=dashed" in text
