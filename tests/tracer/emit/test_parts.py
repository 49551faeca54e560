"""Control flow before lowering; machine code built on it equals the interpreter on any control flow."""

import random

import numpy as np
import pytest

from rayplay import ptx
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.flow.liveness import Liveness
from rayplay.tracer.emit import parts
from tests.tracer.execution.test_warps import BARRIERS, CALLS
from tests.tracer.harness.execution import HEADER, both
from tests.tracer.harness.processors import translate_anew

REGISTERS = 6
OPERATIONS = (
    "add.u32 {d}, {a}, {b};", "xor.b32 {d}, {a}, {b};", "mul.lo.u32 {d}, {a}, 2654435761;", "shr.u32 {d}, {a}, 3;",
    "sub.u32 {d}, {a}, {b};", "shfl.sync.bfly.b32 {d}, {a}, 5, 0x1f, -1;",
    "st.global.u32 [%l2+{slot}], {a};", "ld.global.u32 {d}, [%l2+{slot}];",
)  # fmt: skip


def register(dice: random.Random) -> str:
    return f"%r{dice.randrange(REGISTERS)}"


def operation(dice: random.Random) -> str:
    guard = dice.choice(("", "", "", "@%p1 ", "@!%p1 "))
    chosen = dice.choice(OPERATIONS)
    if guard and "shfl" in chosen:
        guard = ""
    return guard + chosen.format(d=register(dice), a=register(dice), b=register(dice), slot=4 * dice.randrange(4))


def ending(dice: random.Random, blocks: int) -> list[str]:
    """How a block ends; jumps need fuel, so that every program ends."""
    bit = dice.randrange(12)
    test = [
        f"shr.u32 %t1, {register(dice)}, {bit};",
        "add.u32 %fuel, %fuel, -1;",
        "and.b32 %t1, %t1, 1;",
        "setp.eq.u32 %p1, %t1, 1;",
        "setp.gt.s32 %p2, %fuel, 0;",
        "and.pred %p3, %p1, %p2;",
    ]
    target = f"B{dice.randrange(blocks)}"
    kind = dice.randrange(10)
    if kind < 6:
        return [*test, f"@%p3 bra {target};"]
    if kind == 6:
        return [*test, "setp.le.s32 %p3, %fuel, 0;", "@%p3 bra DONE;", f"bra {target};"]
    if kind == 7:
        return [*test, "@%p3 ret;"]
    if kind == 8:
        return [*test, f"and.b32 %t1, {register(dice)}, 3;", "@!%p2 bra DONE;", "brx.idx %t1, TARGETS;"]
    return []


def program(seed: int) -> str:
    """A kernel whose blocks do arithmetic on six registers and jump anywhere."""
    dice = random.Random(seed)
    blocks = dice.randrange(3, 12)
    lines = [
        ".visible .entry test(.param .u64 out)", "{", ".reg .pred %p<4>;", f".reg .b32 %r<{REGISTERS}>;",
        ".reg .b32 %t<3>;", ".reg .b32 %fuel;", ".reg .b64 %l<4>;",
        "TARGETS: .branchtargets " + ", ".join(f"B{dice.randrange(blocks)}" for _ in range(4)) + ";",
        "ld.param.u64 %l1, [out];", "mov.u32 %r0, %tid.x;", "mul.wide.u32 %l2, %r0, 64;", "add.u64 %l2, %l1, %l2;",
        "mul.lo.u32 %r1, %r0, 2246822519;", "xor.b32 %r2, %r1, 3266489917;", "mov.u32 %fuel, 24;",
    ]  # fmt: skip
    for block in range(blocks):
        lines.append(f"B{block}:")
        lines += [operation(dice) for _ in range(dice.randrange(1, 5))]
        lines += ending(dice, blocks)
    lines.append("DONE:")
    lines += [f"st.global.u32 [%l2+{16 + 4 * k}], %r{k};" for k in range(REGISTERS)]
    return "\n".join([*lines, "ret;", "}"])


@pytest.mark.parametrize("seed", range(24))
def test_any_control_flow_runs_as_in_the_interpreter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops with several entries, exits from their middle, jumps into branches; every third time in many parts."""
    if seed % 3 == 0:
        cut_into_small_parts(monkeypatch, 5 + seed)
    out = both(program(seed), [np.zeros(50 * 16, np.uint32)], block=(50, 1, 1))
    assert out.counts.visits > 4


def cut_into_small_parts(monkeypatch: pytest.MonkeyPatch, instructions: int) -> None:
    monkeypatch.setattr(parts, "PART_INSTRUCTIONS", instructions)
    translate_anew(monkeypatch)  # code of whole functions must not be found


@pytest.mark.parametrize("text", [BARRIERS, CALLS], ids=["barriers", "calls"])
def test_parts_of_a_function_suspend_and_call(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_into_small_parts(monkeypatch, 8)
    arguments: list[np.ndarray | int] = [np.zeros(1024, np.uint32) for _ in range(text.count(".param .u64"))]
    both(text, arguments, grid=(2, 1, 1), block=(128, 1, 1))


LOOP = """
.visible .entry test(.param .u64 out)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .b64 %l<3>;
    ld.param.u64 %l1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
again:
    add.u32 %r3, %r3, %r2;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra again;
    st.global.u32 [%l1], %r3;
    ret;
}
"""


def flow_of(text: str) -> tuple[parts.Flow, Liveness]:
    module = ptx.parse(HEADER + text, "test.ptx")
    function = next(f for f in module.functions.values() if f.is_entry)
    cfg = build(function)
    liveness = Liveness(function, cfg)
    return parts.control_flow(cfg, liveness.live_in, 0), liveness


def test_lanes_that_have_left_a_loop_wait_for_what_follows_it() -> None:
    flow, liveness = flow_of(LOOP)
    assert flow.headers == {1}
    assert [liveness.names(bits) for bits in flow.waiting] == [set(), {"%l1", "%r3"}, set()]


@pytest.mark.parametrize("seed", range(12))
def test_parts_cover_a_function_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = flow_of(program(seed))
    monkeypatch.setattr(parts, "PART_INSTRUCTIONS", 12)
    cut, _ = flow_of(program(seed))
    assert len(whole.parts) == 1 < len(cut.parts)
    assert [block for part in cut.parts for block in part] == list(whole.parts[0])
    assert all(cut.part_of(block) == number for number, part in enumerate(cut.parts) for block in part)


def test_a_loop_is_not_cut_where_its_end_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two loops of five blocks: the cut falls between them."""
    step = "setp.lt.u32 %p1, %r1, {n};\n@%p1 bra in{k}{n};\nin{k}{n}: add.u32 %r2, %r2, 1;\n"
    end = "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, 9;\n@%p2 bra top{k};\n"
    body = "".join(f"top{k}:\n" + "".join(step.format(k=k, n=n) for n in range(4)) + end.format(k=k) for k in range(2))
    text = LOOP[: LOOP.index("again:")] + body + "ret;\n}\n"
    monkeypatch.setattr(parts, "PART_INSTRUCTIONS", 24)
    flow, _ = flow_of(text)
    headers = sorted(flow.headers)
    assert headers[1] in [part.start for part in flow.parts]
