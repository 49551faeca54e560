"""Accel-Sim's traces come in with every instruction, mask and address; what does not fit is named with its place."""

import lzma
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats import open_trace, validate
from rayplay.formats.dataset.reader import Trace
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.guard.errors import FormatError
from tests.formats.schema_strategies import tree_bytes

HEADER = """-kernel name = demo
-kernel id = 1
-grid dim = {grid}
-block dim = {block}
-shmem = 128
-nregs = 16
-binary version = 75
-cuda stream id = 3
-shmem base_addr = 0x00007f0000000000
-local mem base_addr = 0x00007e0000000000
-accelsim tracer version = {version}
-enable lineinfo = {lines}
#traces format = any text
"""
BODY = """#BEGIN_TB
thread block = 0,0,0
warp = 0
insts = 8
0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x10000000 4 0
0010 0000000f 1 R6 LDG.E.64 1 R2 8 2 0x10001000 64 -32 4096 0
0020 00000000 0 EXIT 0 0 0
0030 fffffff0 1 R5 FFMA 3 R4 R4 R255 0 0
0040 fffffff0 1 R7 LDS 1 R5 4 1 0x0 4 0
0050 00000003 0 STG.E 2 UR4 P0 4 0 0x20000000 0x0 0
0060 fffffff0 0 BRA 0 0 0
0020 ffffffff 0 EXIT 0 0 0
#END_TB

"""
Executed = tuple[int, int, str, tuple[tuple[int, int], ...]]
"""PC's rank, lanes, opcode and (lane, address) pairs of an executed instruction."""


def write(folder: Path, body: str = BODY, version: int = 5, grid: str = "(1,1,1)", block: str = "(32,1,1)") -> Path:
    """A kernel list with one kernel."""
    head = HEADER.format(grid=grid, block=block, version=version, lines=0)
    (folder / "kernel-1.traceg").write_text(head + body)
    listing = folder / "kernelslist.g"
    listing.write_text("MemcpyHtoD,0x10000000,4096\nkernel-1.traceg\nMemcpyDtoH,0x0,4\n")
    return listing


def executed(trace: Trace) -> dict[tuple[int, int], list[Executed]]:
    """Execution of each warp of each kernel, reassembled from the tables with plain loops."""
    instructions, blocks, warps = trace.read("instructions"), trace.read("blocks"), trace.read("warps")
    visits, accesses, predicates = trace.read("visits"), trace.read("accesses"), trace.read("predicates")
    key = ("warp_id", "visit", "instruction_id")
    fewer = {
        tuple(map(int, row[:3])): int(row[3]) for row in zip(*(predicates[n] for n in (*key, "lane_mask")), strict=True)
    }
    made = {}
    for row in range(len(accesses["warp_id"])):
        begin, end = accesses["address_offset"][row : row + 2]
        lanes = [lane for lane in range(32) if int(accesses["lane_mask"][row]) >> lane & 1]
        pairs = tuple(zip(lanes, accesses["address"][begin:end].tolist(), strict=True))
        made[tuple(int(accesses[name][row]) for name in key)] = pairs
    did: dict[tuple[int, int], list[Executed]] = {}
    ordinal = np.zeros(len(warps["warp_id"]), int)
    for warp, block, mask in zip(visits["warp_id"], visits["block_id"], visits["active_mask"], strict=True):
        first = int(blocks["first_instruction"][block])
        kernel = int(warps["kernel_id"][warp])
        base = int(np.flatnonzero(instructions["kernel_id"] == kernel)[0])
        for number in range(first, first + int(blocks["instruction_count"][block])):
            place = (int(warp), int(ordinal[warp]), number)
            opcode = str(instructions["opcode"][number])
            did.setdefault((kernel, int(warp)), []).append(
                (number - base, fewer.get(place, int(mask)), opcode, made.get(place, ()))
            )
        ordinal[warp] += 1
    return did


def slow_parse(path: Path) -> list[list[Executed]]:
    """Execution of each warp, in file order: an obvious parser of a kernel file."""
    text = (lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()).decode()
    version = int(re.search(r"tracer version = (\d+)", text)[1]) if "tracer version" in text else 0
    lines = "lineinfo = 1" in text
    found: list[list[tuple[int, int, str, tuple[tuple[int, int], ...]]]] = []
    for line in text[text.index("#traces format") :].splitlines()[1:]:
        words = line.split()
        if line.startswith("insts"):
            found.append([])
        elif words and not line.startswith(("#", "thread", "warp", "cluster")):
            words = words[(4 if version < 3 else 0) + lines :]
            pc, mask, count = int(words[0], 16), int(words[1], 16), int(words[2])
            opcode, sources = words[3 + count], int(words[4 + count])
            rest = words[5 + count + sources :]
            lanes = [lane for lane in range(32) if mask >> lane & 1]
            pairs = []
            if int(rest[0]) > 0 and lanes:
                mode, value = int(rest[1]), int(rest[2], 16)
                for index, lane in enumerate(lanes):
                    if index and mode == 0:
                        value = int(rest[2 + index], 16)
                    elif index:
                        value += int(rest[3 if mode == 1 else 2 + index])
                    if value or opcode.startswith(("LDS", "STS", "ATOMS")):
                        pairs.append((lane, value))
            found[-1].append((pc, mask, opcode, tuple(pairs)))
    ranks = {pc: rank for rank, pc in enumerate(sorted({pc for warp in found for pc, *_ in warp}))}
    return [[(ranks[pc], *other) for pc, *other in warp] for warp in found]


def test_every_instruction_mask_and_address_is_kept(tmp_path: Path) -> None:
    import_accelsim(write(tmp_path), tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    assert validate(trace) == []
    did = executed(trace)[0, 0]
    assert did == slow_parse(tmp_path / "kernel-1.traceg")[0]
    assert did[1][3] == ((0, 0x10001000), (1, 0x10001040), (2, 0x10001020), (3, 0x10002020))
    assert did[4][3][0] == (4, 0), "offset 0 of shared memory is an address"
    assert did[5][3] == ((0, 0x20000000),), "elsewhere address 0 is no access"
    kernels = trace.read("kernels")
    assert (kernels["name"][0], kernels["source"][0], kernels["stream"][0]) == ("demo", "sass", 3)
    assert trace.read("copies")["bytes"].tolist() == [4096]


def test_instructions_and_blocks(tmp_path: Path) -> None:
    import_accelsim(write(tmp_path), tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    instructions = trace.read("instructions")
    assert instructions["operation_class"].tolist() == ["load", "load", "exit", "fp32", "load", "store", "branch"]
    assert instructions["access_bytes"].tolist() == [4, 8, 0, 0, 4, 4, 0]
    assert instructions["text"][3] == "@P? FFMA R5, R4, R4, RZ", "RZ is register 255, read like any other"
    assert instructions["text"][5] == "@P? STG.E UR4, P0"
    assert trace.read("blocks")["instruction_count"].tolist() == [2, 1, 4], "EXIT is entered by a branch"
    assert trace.read("visits")["active_mask"].tolist() == [0xFFFFFFFF, 0xFFFFFFF3, 0xFFFFFFF3, 0xFFFFFFFF]


def as_version(body: str, version: int) -> str:
    """The same instructions as another version writes them."""
    lines = []
    for line in body.splitlines():
        if re.match(r"[0-9a-f]{4} ", line):
            line = f"0 0 0 0 {line}" if version < 3 else f"{line} 1 NoVal" if version == 6 else line
        if line.startswith("warp") and version == 6:
            lines.append("cluster id = 0,0,0")
        lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("version", [0, 3, 4, 6])
def test_versions_differ_only_in_their_text(tmp_path: Path, version: int) -> None:
    import_accelsim(write(tmp_path), tmp_path / "a.trace")
    import_accelsim(write(tmp_path, as_version(BODY, version), version), tmp_path / "b.trace")
    one, two = (executed(open_trace(tmp_path / name)) for name in ("a.trace", "b.trace"))
    assert one == two


def test_the_last_newline_may_be_missing_and_warps_may_be_out_of_order(tmp_path: Path) -> None:
    one = BODY.replace("#BEGIN_TB\nthread block = 0,0,0\n", "").replace("#END_TB\n\n", "")
    start = "#BEGIN_TB\nthread block = 0,0,0\n"
    body = start + one.replace("warp = 0", "warp = 1").replace("FFMA", "FMUL", 0) + one + "#END_TB"
    import_accelsim(write(tmp_path, body, block="(64,1,1)"), tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    assert validate(trace) == []
    assert trace.read("warps")["warp_in_cta"].tolist() == [0, 1]


ERRORS = {
    "insts = 8": ("insts = 9", r"kernel-1.traceg:\d+:\d+: the warp must have as many instructions"),
    "0010 0000000f": ("0010 zz", r"kernel-1.traceg:19:5: a mask must be a hexadecimal number of 32 bits"),
    "0000 ffffffff": ("0000 1ffffffff", r"kernel-1.traceg:18:5: a mask must be a hexadecimal number of 32 bits"),
    "0020 ffffffff": ("0020 ffffffffffffffff", r":25:5: a mask must be a hexadecimal number of 32 bits"),
    "0060 fffffff0 0": ("0060 fffffff0 x", r":24:14: a number must stand here"),
    "1 R5 FFMA": ("1 X5 FFMA", r":21:\d+: a register must be R"),
    "8 2 0x10001000": ("8 7 0x10001000", r":19:\d+: the address mode must be 0"),
    "FFMA 3": ("FFMA 9", r":21:\d+: an instruction has at most 2 destinations and 8 sources"),
    " LDS ": (" XYZZY ", r"kernel-1.traceg:22: unknown opcode XYZZY; --unknown warn"),
    "0040 ffff": ("0044 ffff", r"a PC must be a multiple of 8"),
    "warp = 0": ("warp = 1", r"'warp =' must be below 1, found 1"),
}


@pytest.mark.parametrize("old", ERRORS)
def test_what_does_not_fit_is_named(tmp_path: Path, old: str) -> None:
    new, message = ERRORS[old]
    assert old in BODY
    with pytest.raises(FormatError, match=message):
        import_accelsim(write(tmp_path, BODY.replace(old, new)), tmp_path / "a.trace")
    assert not (tmp_path / "a.trace").exists()


STEPS = BODY.split("warp = 0\n")[1].split("#END_TB")[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("warp = 0\n", "iwarp = 0\nwarp = 0\n", r"traceg:16:2: the line must be 'thread block ='"),
        ("insts = 8", "inst = 8", r"traceg:17:5: the line must be"),
        ("warp = 0\n", f"warp = 0\n{STEPS}warp = 0\n", r"'warp = 0' must stand once in a CTA, but is twice in CTA 0"),
        ("warp = 0", "warp = 576460752303423488", r"'warp =' must be below 1, found 576460752303423488"),
        ("0x10000000 4", "0x10000000000000000 4", r"traceg:18:\d+: a number must stand here"),
        ("R2 4 1", "R2 256 1", r"traceg:18:30: a number must stand here"),
        ("64 -32 4096", "64 -9300000000000000000 4096", r"a number must stand here"),
        ("(1,1,1)", "(1,4294967296,1)", r"'-grid dim =' must be \(x,y,z\), each at least 1 and below 2\*\*32"),
        ("id = 3", "id = 4294967296", r"'-cuda stream id =' must be a whole number below 4294967296"),
    ],
)
def test_what_fuzzing_found_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Each was taken for something else, or broke a law of the trace."""
    listing = write(tmp_path)
    text = (tmp_path / "kernel-1.traceg").read_text()
    (tmp_path / "kernel-1.traceg").write_text(text.replace(old, new, 1))
    with pytest.raises(FormatError, match=message) as caught:
        import_accelsim(listing, tmp_path / "a.trace")
    assert str(caught.value).startswith(str(tmp_path / "kernel-1.traceg"))
    assert not (tmp_path / "a.trace").exists()


def test_a_number_may_begin_with_zeros(tmp_path: Path) -> None:
    listing = write(tmp_path)
    text = (tmp_path / "kernel-1.traceg").read_text()
    (tmp_path / "kernel-1.traceg").write_text(text.replace("-shmem = 128", "-shmem = 0128"))
    import_accelsim(listing, tmp_path / "a.trace")
    assert open_trace(tmp_path / "a.trace").read("kernels")["shared_bytes"].tolist() == [128]


@pytest.mark.parametrize("line", ["R2 0 0", "R2 4 1 0x0 0 0", "R2 4 0 0x0 " + "0x10 " * 31])
def test_lanes_without_an_access(tmp_path: Path, line: str) -> None:
    """Address 0 is no access, nor is a width of 0: the instruction is under an unnamed predicate."""
    import_accelsim(write(tmp_path, BODY.replace("R2 4 1 0x10000000 4 0", line)), tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    assert validate(trace) == []
    assert trace.read("instructions")["text"][0] == "@P? LDG.E R4, R2"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("kernel-../x.traceg", "must be the name of a .traceg"), ("kernel-2.traceg", "is not a file beside the list"),
        ("MemcpyHtoD,12,x", "must be MemcpyHtoD,0xADDRESS,BYTES"), ("", "must name at least one kernel"),
    ],
)  # fmt: skip
def test_lists_name_files_beside_them(tmp_path: Path, line: str, message: str) -> None:
    listing = write(tmp_path)
    listing.write_text(line + "\n")
    with pytest.raises(FormatError, match=re.escape(message)):
        import_accelsim(listing, tmp_path / "a.trace")


def test_any_number_of_pieces_kept_or_read_again_gives_the_same_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warp = "#BEGIN_TB\nthread block = {0},0,0\nwarp = 0\ninsts = 2\n{1:04x} ffffffff 0 BRA 0 0 0\n{2:04x} ffffffff 0 EXIT 0 0 0\n"  # fmt: skip # noqa: E501
    body = "".join(warp.format(cta, 64 * cta, 64 * cta + 16) for cta in range(9))
    listing = write(tmp_path, body, grid="(9,1,1)")
    import_accelsim(listing, tmp_path / "whole.trace")
    assert validate(open_trace(tmp_path / "whole.trace")) == []
    monkeypatch.setattr("rayplay.formats.exchange.accelsim.reader.CHUNK_INSTRUCTIONS", 4)
    for kept in (0, 3, 1000):
        monkeypatch.setattr("rayplay.formats.exchange.accelsim.reader.KEPT_INSTRUCTIONS", kept)
        import_accelsim(listing, tmp_path / f"{kept}.trace")
        for file in (tmp_path / "whole.trace").iterdir():
            assert (tmp_path / f"{kept}.trace" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("unknown", ["warn", "class=fp64"])
def test_unknown_opcodes_by_policy(tmp_path: Path, unknown: str) -> None:
    listing = write(tmp_path, BODY.replace("FFMA", "XYZZY"))
    import_accelsim(listing, tmp_path / "a.trace", unknown)
    expected = "fp64" if unknown != "warn" else "other"
    assert open_trace(tmp_path / "a.trace").read("instructions")["operation_class"][3] == expected


@pytest.mark.parametrize("name", ["bfs-rodinia-2.0-ft", "matrixmul-32-32", "simple-trace-example", "vectoradd-100-32"])
def test_real_traces_keep_everything(data: Path, tmp_path: Path, name: str) -> None:
    folder = data / "reference" / "accelsim" / "traces" / name
    import_accelsim(folder / "kernelslist.g", tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    assert validate(trace) == []
    did = executed(trace)
    files = [line for line in (folder / "kernelslist.g").read_text().split() if line.startswith("kernel")]
    expected = [warp for file in files for warp in slow_parse(folder / file)]
    assert [did[key] for key in sorted(did)] == expected


def test_in_plain_python_the_same_comes_in(tmp_path: Path) -> None:
    listing = write(tmp_path)
    import_accelsim(listing, tmp_path / "compiled.trace")
    module = "rayplay.formats.exchange.accelsim.importer"
    code = f"from {module} import *; import_accelsim(Path({str(listing)!r}), Path('plain.trace'))"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment, cwd=tmp_path, check=True)
    assert tree_bytes(tmp_path / "plain.trace") == tree_bytes(tmp_path / "compiled.trace")
