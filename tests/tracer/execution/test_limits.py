"""Programs and launches that ask for too much: each named limit at its edge, before memory is taken."""

import re
from collections.abc import Callable

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.api import Device
from tests.tracer.harness.execution import HEADER, execute

ENTRY = ".visible .entry k() { .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>; BODY ret; }"
PRINTF = ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.global .b8 text[16] = {TEXT};\n"
CALL = """
    .local .align 8 .b8 room[8]; mov.u32 %r1, VALUE; st.local.u32 [room], %r1;
    { .param .b64 a; .param .b64 b; .param .b32 r; mov.u64 %d1, text; cvta.global.u64 %d1, %d1;
    mov.u64 %d2, room; cvta.local.u64 %d2, %d2; st.param.b64 [a], %d1; st.param.b64 [b], %d2;
    call (r), vprintf, (a, b); }
"""
LOOP = "mov.u32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, -1; @%p1 bra L;"


def kernel(body: str) -> str:
    return ENTRY.replace("BODY", body)


def printing(template: str, value: int = 0) -> str:
    text = ", ".join(str(byte) for byte in template.encode())
    return PRINTF.replace("TEXT", text) + kernel(CALL.replace("VALUE", str(value)))


def program(text: str, **launch: object) -> Callable[[str], object]:
    return lambda backend: execute(text, [], backend, **launch)  # type: ignore[arg-type]


EDGES = {
    "RAYPLAY_MAX_WARPS": (program(kernel(""), grid=(3, 2, 1), block=(33, 1, 1)), 12),
    "RAYPLAY_MAX_SHARED_BYTES": (program(kernel(".shared .b8 s[96]; st.shared.b8 [s], 0;"), shared=8), 104),
    "RAYPLAY_MAX_CONSTANT_BYTES": (program(".const .b8 c[40]; .const .b32 d;" + kernel("")), 44),
    "RAYPLAY_MAX_VARIABLE_BYTES": (program(".global .b8 g[400];" + kernel("")), 400),
    "RAYPLAY_MAX_PRINTED_BYTES": (program(printing("%7d\n"), block=(3, 1, 1)), 24),
}  # fmt: skip
ALL = {*EDGES, "RAYPLAY_MAX_INSTRUCTIONS", "RAYPLAY_MAX_CTA_BYTES"}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("backend", ["machine", "interpreter"])
def test_a_limit_is_exact(name: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, size = EDGES[name]
    monkeypatch.setenv(name, str(size))
    run(backend)
    monkeypatch.setenv(name, str(size - 1))
    with pytest.raises(UserError, match=rf"must be at most {size - 1} .*, not {size}; --limit .*={size} or {name}"):
        run(backend)


@pytest.mark.parametrize(
    ("run", "limit"),
    [
        (program(".const .b8 c[8589934592];" + kernel("")), "constant-bytes"),
        (program(".global .b8 g[137438953472];" + kernel("")), "variable-bytes"),
        (program(kernel(".shared .b8 s[2147483647]; st.shared.b8 [s], 0;")), "shared-bytes"),
        (program(kernel(""), shared=1 << 40), "shared-bytes"),
        (program(kernel(""), grid=(2**31 - 1, 65535, 65535)), "warps"),
        (program(printing("%999999999d")), "printed-bytes"),
        (program(printing("%.999999999d")), "printed-bytes"),
        (program(printing("%-*d", 999999999)), "printed-bytes"),
    ],
    ids=["const", "global", "shared", "dynamic shared", "grid", "width", "precision", "width in memory"],
)  # fmt: skip
def test_what_is_far_too_large_is_refused_by_a_named_limit(run: Callable[[str], object], limit: str) -> None:
    with pytest.raises(UserError, match=f"--limit {limit}="):
        run("machine")


def test_a_warp_without_an_end_stops_at_max_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYPLAY_MAX_INSTRUCTIONS", "3000000")
    message = "the warp has visited more than 3,000,000 blocks and seems to have no end; --max-instructions="
    with pytest.raises(UserError, match=re.escape(message)):
        execute(kernel(LOOP), [])


def test_records_of_a_cta_that_does_not_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYPLAY_MAX_CTA_BYTES", "10000000")
    with pytest.raises(UserError, match="records of a CTA that has not ended must be at most 10000000 bytes"):
        execute(kernel(LOOP), [], block=(64, 1, 1))


def test_zero_has_no_prefix() -> None:
    """C: 0 is printed without 0x by %#x, and as a single 0 by %#o."""
    shown = {("%#x", 0): "0", ("%#x", 255): "0xff", ("%#o", 0): "0", ("%#o", 8): "010", ("%#5x", 0): "    0"}
    for (template, value), wanted in shown.items():
        assert printed(template, value) == wanted


def printed(template: str, value: int) -> str:
    """The text of a number that one lane prints."""
    device = Device(HEADER + printing(template, value))
    device.launch("k", [], block=1)
    return device.printed
