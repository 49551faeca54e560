"""Injection of filter_shader: one way out, reached by every lane; text and structure agree; nothing else changes."""

import difflib

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.graph import END
from rayplay.ptx.inject import inject_filter, inject_text, is_injected, ray_generation
from rayplay.ptx.text.parser import parse, parse_file
from rayplay.ptx.verifier.code import verify

BODIES = [
    "ret;", "mov.u32 %r1, 0;", "@%p1 ret; mov.u32 %r1, 0; exit;", "A: @%p1 bra A; ret.uni; B: @!%p2 exit; bra B;",
    "@%p1 bra B; ret; B: { @%p2 ret; } // ret; }\n mov.u32 %r2, %r1; /* ret; } */ ret ;", "A: bra A; ret;",
    "shader_exit: mov.u32 %r1, 0; @%p1 bra shader_exit; .reg .u32 %shader_passes; ret;",
]  # fmt: skip


def shape(function):
    return (
        [(i.full_opcode, i.operands, i.guard, i.call, i.text) for i in function.body], function.labels,
        function.registers, function.branch_targets,
    )  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_one_way_out_and_text_equals_structure(kernel, wrap, body) -> None:
    original = kernel(body)
    made = inject_filter(original)
    assert [i.opcode for i in made.body[:3]] == ["filter_shader", "setp", "bra"]
    assert [i.opcode in ("ret", "exit") for i in made.body] == [False] * (len(made.body) - 1) + [True]
    assert len(made.body) == len(original.body) + 4
    for label, index in original.labels.items():
        assert made.labels[label] == index + 3
    text = inject_text(wrap(body), "k.ptx")
    again = parse(text, "k.ptx")
    assert shape(again.functions["k"]) == shape(made)
    assert verify(again) == []
    assert inject_text(text, "k.ptx") == text
    assert inject_filter(made) is made


@pytest.mark.parametrize("body", BODIES[:5])
def test_all_lanes_meet_at_the_end(kernel, body) -> None:
    cfg = build(inject_filter(kernel(body)))
    last = len(cfg.blocks) - 1
    meets = 0
    for _ in cfg.blocks:
        meets = cfg.reconvergence[meets]
        if meets == last:
            break
    assert meets == last
    assert cfg.reconvergence[last] == END
    assert [b.leaves for b in cfg.blocks] == [False] * last + [True]


def test_only_the_chosen_entry_changes(data_folder) -> None:
    text = (data_folder / "rays.ptx").read_text()
    injected = inject_text(text, "rays.ptx")
    before, after = parse(text, "x"), parse(injected, "x")
    for name, function in before.functions.items():
        if name != "__raygen__image":
            assert shape(after.functions[name]) == shape(function)
    assert is_injected(after.functions["__raygen__image"])
    removed = [d for d in difflib.ndiff(text.splitlines(), injected.splitlines()) if d.startswith("- ")]
    assert {line[2:].strip() for line in removed} <= {"", "ret;"}


def test_the_entry_must_be_clear(data_folder) -> None:
    rays, compute = parse_file(data_folder / "rays.ptx"), parse_file(data_folder / "compute.ptx")
    assert ray_generation(rays).name == "__raygen__image"
    assert ray_generation(compute, "calls").name == "calls"
    with pytest.raises(UserError, match=r"choose one entry with --entry NAME; there are: loop_and_shared, "):
        ray_generation(compute)
    with pytest.raises(UserError, match="must have a body"):
        inject_filter(compute.functions["vprintf"])
