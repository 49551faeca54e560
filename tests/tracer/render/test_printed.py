"""Text that ray-tracing programs print: it stands before the table of figures."""

from pathlib import Path

from rayplay.tracer.render import Request, render
from tests.tracer.harness.optix_programs import CONFIG, HEAD, program

TEXT = b"pixel %u of %s\n\0"
PRINTER = f"""
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .align 1 .b8 fmt[{len(TEXT)}] = {{{", ".join(map(str, TEXT))}}};
""" + program(
    "raygen",
    """
    .local .align 8 .b8 buf[16];
    setp.ne.u32 %p1, %r1, 3;
    @%p1 ret;
    mov.u64 %l4, buf; cvta.local.u64 %l4, %l4;
    st.local.u32 [buf], %r2;
    mov.u64 %l5, 0;
    st.local.u64 [buf+8], %l5;
    mov.u64 %l6, fmt; cvta.global.u64 %l6, %l6;
    { .param .b64 p0; .param .b64 p1; .param .b32 rr;
      st.param.b64 [p0], %l6; st.param.b64 [p1], %l4;
      call (rr), vprintf, (p0, p1); }
""",
)


def test_what_a_program_prints_is_shown_and_a_null_string_has_a_name(tmp_path: Path) -> None:
    file = tmp_path / "printer.ptx"
    file.write_text(HEAD + PRINTER)
    file.with_suffix(".toml").write_text(CONFIG + '[[hit_group]]\ngeometry = "triangles"\n')
    summary = render(Request("cornell", file, None, tmp_path / "t.trace", 8, 2, backend="interpreter"))
    assert summary.text().startswith("pixel 3 of (null)\npixel 11 of (null)\nrays traced ")
