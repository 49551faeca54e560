"""Verdicts beside ``ptxas``'s on generated instructions and on modules: never refuse what it takes."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.text.parser import parse
from rayplay.ptx.verifier.code import verify
from tests.ptx.isa.instructions import FIRST_LINE, HEAD, broken, valid_lines

PTXAS = shutil.which("ptxas")
needs_ptxas = pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed: its verdict cannot be compared")
TOGETHER = 40  # lines a file; ptxas stops reporting after some errors
# ptxas 13.0 lets pass, although the manual has no such thing: .pred as a further type.
QUIRKS = re.compile(r"\.pred\b")

MODULE = ".version 8.0\n.target sm_75\n.address_size 64\n"
MODULES = [
    # text, whether it is valid
    ("\n.global .u32 x[2][3] = {{1, 2}, {3}};", True), (".global .b32 y; .global .u64 x = generic(y)+4;", True),
    (".extern .shared .align 16 .b8 s[];", True), (".func b() {ret;} .func a(); .alias a, b;", True),
    (".entry k .maxntid 1, 2, 3 {ret;}", True), (".entry k(); .entry k() {ret;}", True),
    (".global .attribute(.managed) .align 8 .b32 x;", True),
    (".entry k(.param .u64 .ptr .global .align 4 p) {ret;}", True),
    (".entry k() {.reg .b64 %d; p: .callprototype _ (); call %d, p; ret;}", True), (".entry k() {L: }", True),
    (".section .debug_x { .b8 1\n .b8 2,3\n L: .b64 L+4\n .b32 .debug_y }", True),
    (".global .b32 y; .global .u8 x[8] = {0xff(y), 0xff00(y), 0xff0000(y), 0xff000000(y), 1, 2, 3, 4};", True),
    (".entry k() { { bra L; } L: ret; }", True), (".entry k() { # 1 \"x.cu\"\n ret; }", True),
    (".global .u32 x = 1.5;", False), (".global .f32 x = 1;", False), (".shared .b32 s = 3;", False),
    (".global .b32 s[];", False), (".param .b32 p;", False), (".global .align 3 .b32 x;", False),
    (".entry k() .maxntid 32 .reqntid 32 {ret;}", False), (".entry k() .foo 3 {ret;}", False),
    (".func f() .maxntid 32 {ret;}", False), (".entry k(.reg .u32 p) {ret;}", False),
    (".entry k(.param .u32 a, .param .u32 a) {ret;}", False), (".entry k() {ret;} .entry k() {ret;}", False),
    (".func f(.param .b32 a); .func f(.param .b64 a) {ret;}", False), (".global .b32 x; .func x() {ret;}", False),
    (".func (.param .b32 r, .param .b32 q) f() {ret;}", False), (".reg .b32 g;", False), (".alias a, b;", False),
    (".entry k() { { L: ret; } bra L; }", False), (".entry k() { mov.u32 %q, 1; .reg .b32 %q; ret; }", False),
    (".entry k() { .reg .b32 %r<4>; .reg .b32 %r2; ret; }", False), (".entry k() {;}", False),
    (".func f(.param .b32 a) {ret;} .entry k() {.param .b64 q; call f, (q); ret;}", False),
    (".func f(.param .b32 a) {ret;} .entry k() {.reg .b64 %d; call f, (%d); ret;}", False),
    (".entry f() {ret;} .entry k() {call f; ret;}", False), (".entry k() {ret}", False),
    (".entry k(.param .pred p) {ret;}", False), (".entry k() .explicitcluster {ret;}", False),
]  # fmt: skip


def ptxas_errors(text: str, path: Path) -> tuple[bool, set[int]]:
    """Whether ptxas takes the text, and the lines it names."""
    path.write_text(text)
    command = [PTXAS, "-arch=sm_100a" if "sm_100a" in text else "-arch=sm_75", "-O0", str(path), "-o", "/dev/null"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.returncode == 0, {int(n) for n in re.findall(r"line (\d+); (?:error|fatal)", run.stderr)}


def ptxas_verdicts(lines: list[str], path: Path) -> dict[str, bool]:
    """ptxas' verdict on each line; lines that it names go, until it takes the rest."""
    verdicts: dict[str, bool] = {}
    left = list(lines)
    while left:
        taken, named = ptxas_errors(HEAD + "\n".join(left) + "\nret;\n}\n", path)
        places = {line - FIRST_LINE for line in named if 0 <= line - FIRST_LINE < len(left)}
        if taken or not places:  # what it refuses without a line is not judged
            return verdicts | dict.fromkeys(left, True) if taken else verdicts
        verdicts |= {left[place]: False for place in places}
        left = [line for place, line in enumerate(left) if place not in places]
    return verdicts


def our_verdict(line: str) -> str | None:
    """The fault in a line, None without one."""
    try:
        problems = verify(parse(f"{HEAD}{line}\nret;\n}}\n", "x"))
    except UserError as error:
        return str(error)
    return str(problems[0]) if problems else None


def test_generated_instructions_are_valid_to_us() -> None:
    wrong = [found for line in valid_lines(3, 1) if (found := our_verdict(line)) is not None]
    assert wrong == []


def test_most_changes_break_an_instruction() -> None:
    chance = random.Random(5)
    lines = [broken(line, chance) for line in valid_lines(1, 2)]
    refused = sum(our_verdict(line) is not None for line in lines)
    assert 0.8 * len(lines) < refused < len(lines)


@needs_ptxas
def test_verdicts_on_generated_instructions(tmp_path) -> None:
    """No line that ptxas takes is refused; of those it refuses, at least 19 in 20 are."""
    chance = random.Random(11)
    valid = valid_lines(1, 3)
    lines = list(dict.fromkeys(valid + [broken(line, chance) for line in valid * 2]))
    verdicts: dict[str, bool] = {}
    for start in range(0, len(lines), TOGETHER):
        verdicts |= ptxas_verdicts(lines[start : start + TOGETHER], tmp_path / "lines.ptx")
    judged = {line: our_verdict(line) for line in verdicts}
    wrongly_refused = [f"{line}  {judged[line]}" for line, taken in verdicts.items() if taken and judged[line]]
    assert [line for line in wrongly_refused if not QUIRKS.search(line)] == []
    refused = [line for line, taken in verdicts.items() if not taken]
    assert len(refused) > 300
    assert sum(judged[line] is not None for line in refused) >= 0.95 * len(refused)
    assert sum(verdicts.values()) > 300


@pytest.mark.parametrize(("text", "valid"), MODULES, ids=[text for text, _ in MODULES])
def test_modules(text, valid, tmp_path) -> None:
    try:
        problems = [str(problem) for problem in verify(parse(MODULE + text, "x"))]
    except UserError as error:
        problems = [str(error)]
    assert (problems == []) == valid, problems
    if PTXAS is not None:
        assert ptxas_errors(MODULE + text, tmp_path / "module.ptx")[0] == valid
