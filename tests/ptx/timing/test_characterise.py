"""Characterisation laws: an in-order warp that obeys stalls and waits meets every dependence, on every path."""

import random

import pytest
from hypothesis import given, settings

from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.trace import UNITS
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.text.parser import parse_file
from rayplay.ptx.timing.characterise import NO_SLOT, SLOTS, TRACE_SLOT, characterise
from rayplay.ptx.timing.pipelines import RTX2060, VARIABLE_LATENCY_CLASSES, pipeline
from tests.ptx.bodies import bodies
from tests.ptx.conftest import kernel


def walk(cfg, random_, most: int = 120) -> list[int]:
    """Instructions of a random path from the entry."""
    path, block = [], 0
    while len(path) < most:
        extent = cfg.blocks[block]
        path += range(extent.first, extent.first + extent.count)
        if not extent.successors or (extent.leaves and random_.random() < 0.2):
            break
        block = random_.choice(extent.successors)
    return path


def issue(function, cfg, made, path, random_) -> None:
    """Issue a path in order, loads taking any time, and check that each result is there when it is needed."""
    described = [describe(i, function) for i in function.body]
    clear = [0] * SLOTS  # when each slot is clear
    ready: dict[str, int] = {}
    now = 0
    for index in path:
        for slot in range(SLOTS):
            if made.wait_mask[index] >> slot & 1:
                now = max(now, clear[slot])
        d = described[index]
        for register in (*d.sources, *d.destinations):
            assert ready.get(register, 0) <= now, f"{function.body[index].text} reads {register} too early"
        if made.scoreboard_slot[index] != NO_SLOT:
            done = now + random_.choice([1, 3, 50, 400, 3000])
            clear[made.scoreboard_slot[index]] = max(clear[made.scoreboard_slot[index]], done)
        else:
            timing = RTX2060.timing(d.operation_class, d.timing, d.type)
            done = now + RTX2060.result_cycles(timing)
        for register in d.destinations:
            ready[register] = done
        now += made.stall_cycles[index]


def functions_of(module):
    return [f for f in module.functions.values() if not f.is_declaration]


def test_every_dependence_is_met_in_compiled_programs(program) -> None:
    random_ = random.Random(11)
    for function in functions_of(program):
        cfg = build(function)
        made = characterise(function, cfg, RTX2060)
        for _ in range(20):
            issue(function, cfg, made, walk(cfg, random_), random_)


STATEMENTS = (
    "add.s32 %r{a}, %r{b}, %r{c};", "fma.rn.f32 %f{a}, %f{b}, %f{c}, %f{a};", "ld.global.f32 %f{a}, [%rd{b}];",
    "rcp.approx.f32 %f{a}, %f{b};", "@%p{a} ld.shared.u32 %r{b}, [%r{c}];", "setp.lt.s32 %p{a}, %r{b}, 3;",
    "@%p{a} bra L{back};", "atom.global.add.u32 %r{a}, [%rd{b}], %r{c};", "st.global.f32 [%rd{a}], %f{b};",
    "div.rn.f64 %fd{a}, %fd{b}, %fd{c};", "@%p{a} ret;", "call (%r{a}), _optix_trace_1, (%r{b});",
    "call (%r{a}), _optix_get_payload, (%r{b});",
)  # fmt: skip
BODIES = bodies(STATEMENTS, 5, 4, 39)


@settings(max_examples=60, deadline=None)
@given(BODIES)
def test_every_dependence_is_met_in_random_programs(body) -> None:
    function = kernel(body)
    cfg = build(function)
    made = characterise(function, cfg, RTX2060)
    random_ = random.Random(len(body))
    for _ in range(20):
        issue(function, cfg, made, walk(cfg, random_), random_)


@settings(max_examples=20, deadline=None)
@given(BODIES)
def test_no_stall_can_be_shorter(body) -> None:
    """Inside a block and at its end, one cycle less breaks a dependence of some successor or of the block itself."""
    function = kernel(body)
    cfg = build(function)
    made = characterise(function, cfg, RTX2060)
    described = [describe(i, function) for i in function.body]
    for block in cfg.blocks:
        at, ready = 0, {}
        for index in range(block.first, block.first + block.count):
            d = described[index]
            needed = max((ready.get(r, 0) for r in (*d.sources, *d.destinations)), default=0)
            if index > block.first and made.stall_cycles[index - 1] > 1:
                assert at == needed
            if made.scoreboard_slot[index] == NO_SLOT:
                timing = RTX2060.timing(d.operation_class, d.timing, d.type)
                ready |= dict.fromkeys(d.destinations, at + RTX2060.result_cycles(timing))
            else:
                ready |= dict.fromkeys(d.destinations, 0)
            at += made.stall_cycles[index]
        if made.stall_cycles[block.first + block.count - 1] > 1:
            assert at == max(ready.values())


def test_a_dependent_pair_waits_for_exactly_the_latency() -> None:
    """Gate tightness: not at latency + depth - 1, yes at latency + depth."""
    for text, latency in [
        ("add.f32 %f1, %f2, %f3; add.f32 %f4, %f1, %f1;", 4), ("add.s32 %r1, %r2, 1; add.s32 %r3, %r1, 1;", 4),
        ("mul.lo.s32 %r1, %r2, 3; add.s32 %r3, %r1, 1;", 4), ("rsqrt.approx.f32 %f1, %f2; mov.f32 %f3, %f1;", 100),
        ("div.rn.f32 %f1, %f2, %f3; mov.f32 %f3, %f1;", 39), ("setp.eq.s32 %p1, %r1, 0; @%p1 mov.u32 %r2, 0;", 1),
        ("max.f32 %f1, %f2, %f3; mov.f32 %f3, %f1;", 13), ("div.s32 %r1, %r2, %r3; mov.u32 %r4, %r1;", 145),
    ]:  # fmt: skip
        function = kernel(text)
        assert characterise(function, build(function), RTX2060).stall_cycles[0] == latency + RTX2060.depth_cycles


def test_loads_set_slots_in_turn_and_share_them() -> None:
    loads = "".join(f"ld.global.u32 %r{i}, [%rd0+{4 * i}];\n" for i in range(7))
    function = kernel(loads + "add.s32 %r10, %r5, 1; add.s32 %r11, %r0, %r1; ret;")
    made = characterise(function, build(function), RTX2060)
    assert made.scoreboard_slot[:7] == [0, 1, 2, 3, 4, 0, 1]
    assert made.wait_mask[7:9] == [1, 2]  # r5 shares slot 0 with r0, which has been waited for then


def test_a_load_is_waited_for_in_the_next_block() -> None:
    function = kernel("ld.global.u32 %r1, [%rd0]; @%p1 bra A; mov.u32 %r2, 0; A: mov.u32 %r1, %r3; ret;")
    made = characterise(function, build(function), RTX2060)
    assert made.wait_mask == [0, 0, 0, 1, 0]


def test_traces_and_calls_are_waited_for() -> None:
    function = kernel("ld.global.u32 %r1, [%rd0]; call (%r2), _optix_trace_1, (%r3); add.s32 %r5, %r6, 1; ret;")
    cfg = build(function)
    made = characterise(function, cfg, RTX2060)
    assert made.scoreboard_slot[1] == TRACE_SLOT
    assert made.unit[1] == "rt"
    assert made.wait_mask[1] == 1  # the load, because other programs may use its slot
    assert made.wait_mask[2] == 1 << TRACE_SLOT
    assert characterise(function, cfg, RTX2060, entered_by_trace=True).wait_mask[0] == 1 << TRACE_SLOT


def test_pipelines_are_complete() -> None:
    from rayplay.formats.schema.trace import OPERATION_CLASSES

    assert set(RTX2060.by_class) == set(OPERATION_CLASSES)
    for timing in (*RTX2060.by_class.values(), *RTX2060.by_timing.values()):
        assert timing.unit in UNITS
        assert timing.latency_cycles >= 1
        assert timing.initiation_cycles >= (2 if timing.unit in ("int", "sp") else 1)
    assert set(OPERATION_CLASSES) > VARIABLE_LATENCY_CLASSES
    with pytest.raises(UserError, match="pipeline must be one of rtx2060, not 'gtx'"):
        pipeline("gtx")


def test_golden_characterisation(data_folder, golden) -> None:
    from rayplay.ptx.show import characterisation_lines

    module = parse_file(data_folder / "rays.ptx")
    lines = [
        line
        for f in functions_of(module)
        for line in characterisation_lines(f, RTX2060, not f.name.startswith("__raygen__"))
    ]
    golden(data_folder / "rays.characterisation.txt", "\n".join(lines) + "\n")
