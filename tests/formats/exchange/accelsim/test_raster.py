"""CRISP's raster traces: stages, streams and memory of draws, from a kernel list and from the undivided text alike."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats import open_trace, validate
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.guard.errors import FormatError

HEADER = """-kernel name = MESA_SHADER_{stage}_func{number}_main
-kernel id = {number}
-grid dim = (2,1,1)
-block dim = (64,1,1)
-shmem = 0
-nregs = {registers}
-binary version = 80
-cuda stream id = 0
-shmem base_addr = 0xffffffff
-local mem base_addr = 0xffffffff
-accelsim tracer version = 3
#traces format = any text
"""
MEMORY = {
    "VERTEX": "MemcpyVulkan,0x30000000,1500,12\nMemcpyVulkan,0x30010000,128,0\n",
    "FRAGMENT": "MemcpyVulkan,0x30020000,1200,768\ndumpTextures,0x30040000,65536,0\n",
}
LIVE = {"VERTEX": 125, "FRAGMENT": 100}
WARPS = 4


def executed(stage: str, warp: int) -> list[str]:
    """The instructions of a warp; threads behind the last vertex or fragment load from address 0."""
    threads = [32 * warp + lane for lane in range(32)]
    addresses = [f"{0x30000000 + 12 * t if t < LIVE[stage] else 0:#x}" for t in threads]
    load = f"0868 ffffffff 1 R17 {'LD.SYS' if stage == 'VERTEX' else 'TEX'} 0 4 0 {' '.join(addresses)} "
    return ["0860 ffffffff 1 R16 MOV 0 0 ", load, "0870 ffffffff 1 R18 FMUL 2 R17 R16 0 ", "0878 ffffffff 0 EXIT 0 0 "]


def stages(draws: int) -> list[str]:
    """The stages in the order of the draws; the last draw has no fragments."""
    return ["VERTEX", "FRAGMENT"] * (draws - 1) + ["VERTEX"]


def write_list(folder: Path, draws: int = 2) -> Path:
    """A kernel list and its kernel files, as CRISP's script writes them."""
    listing = ""
    for number, stage in enumerate(stages(draws)):
        text = HEADER.format(stage=stage, number=number, registers=48 if stage == "VERTEX" else 52)
        for warp in range(WARPS):
            text += f"\n#BEGIN_TB\n\nthread block = {warp // 2},0,0\n" if warp % 2 == 0 else ""
            text += "\n".join(["", f"warp = {warp % 2}", "insts = 4", *executed(stage, warp), ""])
            text += "\n#END_TB\n\n" if warp % 2 else ""
        name = f"kernel-MESA_SHADER_{stage}_func{number}_main_{number}.traceg"
        (folder / name).write_text(text)
        listing += f"{MEMORY[stage]}{name}\n"
    (folder / "kernelslist.g").write_text(f"{listing}{MEMORY['FRAGMENT']}")
    return folder / "kernelslist.g"


def write_stream(folder: Path, draws: int = 2) -> Path:
    """The text of CRISP's tracer, in which warps take turns."""
    lines = ["block_dim, 64"]
    for number, stage in enumerate(stages(draws)):
        lines += MEMORY[stage].splitlines()
        turns = zip(*(executed(stage, warp) for warp in range(WARPS)), strict=True)
        lines += [f"{WARPS * number + warp}, {line}" for turn in turns for warp, line in reversed([*enumerate(turn)])]
        lines.append(f"graphics kernel end: MESA_SHADER_{stage}_func{number}_main")
    (folder / "app.traceg").write_text("\n".join(lines) + "\n" + MEMORY["FRAGMENT"])
    return folder / "app.traceg"


@pytest.mark.parametrize("write", [write_list, write_stream])
def test_stages_streams_and_memory_of_draws(tmp_path: Path, write) -> None:
    import_accelsim(write(tmp_path), tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    assert validate(trace) == []
    rows = trace.read("stages")
    assert rows["stage"].tolist() == ["vertex", "fragment", "vertex"]
    assert rows["draw"].tolist() == [0, 0, 1]
    assert rows["shaded"].tolist() == rows["live"].tolist() == [125, 100, 125]
    kernels, fills = trace.read("kernels"), trace.read("fills")
    assert np.diff(kernels["stream"].astype(int)).tolist() == [0, 1], "a stream for each draw"
    assert kernels["grid_x"].tolist() == [2, 2, 2]
    assert kernels["registers_per_thread"].tolist() == [48, 52, 48]
    assert fills["kernel_id"].tolist() == [0, 0, 1, 1, 2, 2], "memory behind the last kernel belongs to none"
    assert fills["cta_bytes"].tolist() == [12 * 64, 0, 768, 0, 12 * 64, 0], "a vertex has 12 B"
    assert fills["kind"].tolist() == ["buffer", "buffer", "buffer", "texture", "buffer", "buffer"]


def test_the_undivided_text_is_the_same_trace(tmp_path: Path) -> None:
    for write, out in ((write_list, "a.trace"), (write_stream, "b.trace")):
        import_accelsim(write(tmp_path), tmp_path / out)
    ours, theirs = open_trace(tmp_path / "a.trace"), open_trace(tmp_path / "b.trace")
    assert ours.tables == theirs.tables
    for table in ours.tables:
        left, right = ours.read(table), theirs.read(table)
        assert all(np.array_equal(left[name], right[name]) for name in left), table


def test_a_packed_kernel_stands_for_the_file_that_the_list_names(tmp_path: Path) -> None:
    import lzma

    listing = write_list(tmp_path)
    import_accelsim(listing, tmp_path / "a.trace")
    for file in tmp_path.glob("kernel-*.traceg"):
        file.with_name(f"{file.name}.xz").write_bytes(lzma.compress(file.read_bytes()))
        file.unlink()
    import_accelsim(listing, tmp_path / "b.trace")
    left, right = (open_trace(tmp_path / name).read("accesses") for name in ("a.trace", "b.trace"))
    assert all(np.array_equal(left[name], right[name]) for name in left)


DAMAGED = [
    ("block_dim, 64", "block_dim, 65", r":1: block_dim must be a multiple of 32 up to 1024, found 65"),
    ("block_dim, 64", "block_dim 64", r":1: must be 'WARP, PC MASK ...', .*, found 'block_dim 64'"),
    ("block_dim, 64\n", "", r":19: must follow a line 'block_dim, THREADS'"),
    ("block_dim, 64", "block_dim, 96", r":20: must follow whole CTAs of 3 warps, found 4 warps"),
    ("1500,12", "1500", r":2: must be MemcpyVulkan,0xADDRESS,BYTES,BYTES_OF_A_CTA"),
    ("dumpTextures,0x", "dumpTextures,", r":22: must be dumpTextures,0xADDRESS,BYTES,BYTES_OF_A_CTA"),
    ("3, 0860 ffffffff", "3, 0860 fffffffff", r":4:8: a mask must be a hexadecimal number of 32 bits"),
    ("0, 0870 ffffffff 1 R18", "0, 0870 ffffffff 1 X18", r":15:\d+: a register must be R, UR, P or UP"),
    ("5, 0870", "2, 0870", r":3\d: the warp must be 4 or later, found 2"),
    ("7, ", "999999999, ", r":39: must follow the instructions of 999999996 warps from 4 on, found"),
    ("FMUL", "FMULL", r":1\d: unknown opcode FMULL"),
    ("graphics kernel end: MESA_SHADER_V", "graphics kernel end: MESA_SHADER_X", r":20: must be 'graphics kernel end"),
    ("block_dim, 64\n", "graphics kernel end: MESA_SHADER_VERTEX_main\n", r":1: must follow instructions of the stage"),
]


@pytest.mark.parametrize(("old", "new", "says"), DAMAGED, ids=[new.strip() or "nothing" for _, new, _ in DAMAGED])
def test_a_damaged_text_is_named_with_its_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = write_stream(tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    before = {file.name for file in tmp_path.iterdir()}
    with pytest.raises(FormatError, match=rf"app\.traceg{says}"):
        import_accelsim(path, tmp_path / "a.trace")
    assert {file.name for file in tmp_path.iterdir()} == before


def test_a_text_without_an_end_or_a_stage(tmp_path: Path) -> None:
    path = write_stream(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-3]))
    with pytest.raises(FormatError, match=r"app\.traceg: must end with 'graphics kernel end: NAME'"):
        import_accelsim(path, tmp_path / "a.trace")
    path.write_text("".join(lines[:3]))
    with pytest.raises(FormatError, match=r"app\.traceg: must have a stage of a draw"):
        import_accelsim(path, tmp_path / "a.trace")


def test_a_kernel_file_is_no_undivided_text(tmp_path: Path) -> None:
    write_list(tmp_path)
    with pytest.raises(FormatError, match="give the kernel list beside it"):
        import_accelsim(next(tmp_path.glob("kernel-*.traceg")), tmp_path / "a.trace")
