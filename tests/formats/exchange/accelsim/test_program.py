"""An instruction of an Accel-Sim trace is all that its line says: several may share a PC."""

from pathlib import Path

import pytest

from rayplay.formats import open_trace, validate
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.guard.errors import FormatError
from tests.formats.exchange.accelsim.test_import import write


def warps(*bodies: str) -> str:
    """A CTA; each body is the instructions of a warp."""
    text = "".join(f"warp = {n}\ninsts = {body.count(chr(10))}\n{body}" for n, body in enumerate(bodies))
    return f"#BEGIN_TB\nthread block = 0,0,0\n{text}#END_TB\n"


EXIT = "{pc:04x} ffffffff 0 EXIT 0 0 0\n"


@pytest.mark.parametrize("turn", [1, -1])
def test_instructions_of_one_pc_keep_their_own_registers(tmp_path: Path, turn: int) -> None:
    """To Accel-Sim a PC is an id only; the registers once came from the first warp."""
    apart = "".join(f"{16 * n:04x} ffffffff 1 R{4 + n} FFMA 1 R2 0 0\n" for n in range(3)) + EXIT.format(pc=48)
    chain = "".join(f"{16 * n:04x} ffffffff 1 R4 FFMA 1 R4 0 0\n" for n in range(3)) + EXIT.format(pc=48)
    bodies = [apart, chain][::turn]
    import_accelsim(write(tmp_path, warps(*bodies), block="(64,1,1)"), tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    assert validate(trace) == []
    texts = trace.read("instructions")["text"]
    blocks, visits = trace.read("blocks"), trace.read("visits")
    for warp, body in enumerate(bodies):
        did = [
            str(texts[number]).partition(" /*")[0]
            for block in visits["block_id"][visits["warp_id"] == warp]
            for number in range(
                blocks["first_instruction"][block],
                blocks["first_instruction"][block] + blocks["instruction_count"][block],
            )
        ]
        words = [line.split() for line in body.splitlines()]
        assert did == [f"{w[4]} {w[3]}, {w[6]}" if w[3] != "EXIT" else "EXIT" for w in words]
    assert sorted(blocks["instruction_count"].tolist()) == [1, 3, 3], "each run is a block, and the EXIT of both"


def test_functions_whose_pcs_collide_keep_their_blocks(tmp_path: Path) -> None:
    """NVBit counts PCs from a function's begin; opcode, registers and DEPBAR's immediate tell instructions apart."""
    caller = "0000 ffffffff 1 R4 MOV 1 R2 0 0\n0010 ffffffff 0 DEPBAR.LE 0 0 1\n0020 ffffffff 0 CALL 0 0 0\n"
    callee = "0000 ffffffff 1 R5 FFMA 1 R4 0 0\n0010 ffffffff 0 DEPBAR.LE 0 0 2\n0020 ffffffff 0 RET 0 0 0\n"
    listing = write(tmp_path, warps(caller + callee + EXIT.format(pc=0x30)))
    import_accelsim(listing, tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    assert validate(trace) == []
    texts = ["MOV R4, R2", "DEPBAR.LE 0x1", "CALL", "EXIT", "FFMA R5, R4 /* PC 0x0 */", "DEPBAR.LE 0x2", "RET"]
    assert trace.read("instructions")["text"].tolist() == texts
    assert trace.read("blocks")["instruction_count"].tolist() == [3, 1, 3]
    assert trace.read("visits")["block_id"].tolist() == [0, 2, 1]


def test_thousands_of_instructions_may_have_one_pc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "".join(f"0000 ffffffff 1 R{n % 250} FFMA 2 R{n // 250} R2 0 0\n" for n in range(5000))
    listing = write(tmp_path, warps(body + EXIT.format(pc=0)))
    import_accelsim(listing, tmp_path / "a.trace")
    trace = open_trace(tmp_path / "a.trace")
    assert trace.read("instructions")["destination_registers"].tolist() == [n % 250 for n in range(5000)]
    assert trace.read("blocks")["instruction_count"].tolist() == [5001]
    monkeypatch.setattr("rayplay.formats.exchange.accelsim.program.MOST_INSTRUCTIONS", 4096)
    with pytest.raises(FormatError, match=r"kernel-1.traceg: must have at most 4096 different instructions"):
        import_accelsim(listing, tmp_path / "b.trace")
