"""The version and the target that a feature needs first, beside ``ptxas`` or the verdicts that it gave."""

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rayplay.ptx.isa.needs import FEATURES, NAMES
from rayplay.ptx.isa.special import SPECIAL
from rayplay.ptx.isa.table import TABLE
from rayplay.ptx.text.parser import parse
from rayplay.ptx.verifier.code import verify
from rayplay.ptx.verifier.needs import Needs
from rayplay.ptx.verifier.targets import SINCE
from rayplay.tracer.opcodes.specimens import instruction
from tests.ptx.isa.instructions import FIRST_LINE, HEAD, LEFT_OUT, expansions

PTXAS = shutil.which("ptxas")
VERDICTS = Path(__file__).with_name("ptxas_needs.txt")
LAST_MINOR = (5, 3, 2, 3, 0, 5, 8, 8)
VERSIONS = [f"{major}.{minor}" for major, last in enumerate(LAST_MINOR, 1) for minor in range(last + 1)]
TARGETS = {f"sm_{number}": since for number, since in sorted(SINCE.items()) if number not in (88, 101, 103, 110, 121)}
ONE_ARCHITECTURE = {"sm_90a": (8, 0), "sm_100a": (8, 6), "sm_120a": (8, 7)}
TOGETHER = 300  # lines of a file for ptxas

BOTH = ("global", "shared")

Judge = Callable[[str, str, list[str]], list[bool]]
"""Whether each line is taken in a module of a version and a target."""


def lines() -> list[str]:
    """Instructions of every pattern of every row."""
    chance, made = random.Random(3), dict.fromkeys(f"atom.{space}.exch.b32 %r1, [%rd1], %r3;" for space in BOTH)
    for key, op in TABLE.items():
        if op.opcode not in LEFT_OUT or op.opcode == "alloca":
            for words in expansions(key, 2, chance):
                made[instruction((op.opcode, words), key)] = None
    # banks of constants are gone since 2.2; ptxas 12.9 and 13.5 differ about cvt.ftz.f32.bf16
    return [line for line in made if "const[" not in line and ".ftz.f32.bf16" not in line]


def first(judge: Judge, asked: list[str]) -> dict[str, str]:
    """Per line that is taken at all the first version and target; all targets where they are single architectures."""
    targets: dict[str, list[str]] = {line: [] for line in asked}
    versions: dict[str, str] = {}
    for target in (*TARGETS, *ONE_ARCHITECTURE):
        for line, taken in zip(asked, judge(VERSIONS[-1], target, asked), strict=True):
            targets[line] += [target] * taken
    for version in VERSIONS:
        number = tuple(map(int, version.split(".")))
        newest = [t for t in TARGETS if TARGETS[t] <= number][-1:]
        for target in (*newest, *(t for t in ONE_ARCHITECTURE if ONE_ARCHITECTURE[t] <= number)):
            left = [line for line in asked if line not in versions]
            for line, taken in zip(left, judge(version, target, left), strict=True):
                if taken:
                    versions.setdefault(line, version)
    return {line: f"{versions[line]} {_shown(taken)}" for line, taken in targets.items() if taken and line in versions}


def _shown(targets: list[str]) -> str:
    return targets[0] if targets[0] in TARGETS else ",".join(targets)


def ours(asked: list[str]) -> Judge:
    module = parse(HEAD + "\n".join(asked) + "\nret;\n}\n", "x")
    parsed = dict(zip(asked, module.functions["k"].body, strict=False))

    def judge(version: str, target: str, some: list[str]) -> list[bool]:
        major, minor = map(int, version.split("."))
        needs = Needs(replace(module, version=(major, minor), target=(target,)))
        return [needs.of_instruction(parsed[line]) is None for line in some]

    return judge


def theirs(path: Path) -> Judge:
    def judge(version: str, target: str, some: list[str]) -> list[bool]:
        head = HEAD.replace(".version 9.0", f".version {version}").replace(".target sm_100a", f".target {target}")
        refused: set[int] = set()
        for start in range(0, len(some), TOGETHER):
            path.write_text(head + "\n".join(some[start : start + TOGETHER]) + "\nret;\n}\n")
            kind = target.replace("sm", "compute") if target[-1] == "a" else "compute_120"
            command = [PTXAS, f"-arch={kind}", str(path), "-o", "/dev/null"]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            named = re.findall(r"line (\d+); (?:error|fatal)", run.stderr)
            refused |= {start + int(number) - FIRST_LINE for number in named if int(number) >= FIRST_LINE}
        return [place not in refused for place in range(len(some))]

    return judge


def kept() -> dict[str, str]:
    rows = (row.split("\t") for row in VERDICTS.read_text().splitlines())
    return {line: need for need, line in rows}


@pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed: its verdicts are the kept ones")
def test_the_verdicts_are_those_of_ptxas(tmp_path, golden) -> None:
    made = first(theirs(tmp_path / "lines.ptx"), lines())
    golden(VERDICTS, "".join(f"{need}\t{line}\n" for line, need in made.items()))


def test_versions_and_targets_of_instructions() -> None:
    verdicts = kept()
    assert len(verdicts) > 800
    found = first(ours(list(verdicts)), list(verdicts))
    assert {line: (need, found.get(line)) for line, need in verdicts.items() if found.get(line) != need} == {}


def test_names_are_known() -> None:
    """Every opcode and special register of the table exists."""
    names = {name for name in NAMES if name[0] not in ".*" and name[0] != "%"}
    others = {
        "parameters",
        "address",
        "declaration",
        "generic()",
        "mask",
        "variadic",
        "kernel",
        "debug",
        "texmode_independent",
    }
    assert names - others <= {op.opcode for op in TABLE.values()}
    assert {name for name in NAMES if name[0] == "%"} <= SPECIAL
    assert FEATURES.count("\n") > 100


DECLARED = [
    # version and target that it needs first, text
    ("2.2 sm_20", ".entry k(.param .u32 .ptr p) {ret;}"), ("3.1 sm_20", ".weak .func f() {ret;}"),
    ("5.0 sm_20", ".common .global .u32 x;"), ("2.1 sm_20", ".entry k() .reqntid 32 {ret;}"),
    ("4.0 sm_30", ".global .attribute(.managed) .b32 x;"), ("6.3 sm_30", ".func b() {ret;} .func a(); .alias a, b;"),
    ("6.4 sm_30", ".func f() .noreturn {exit;}"), ("7.8 sm_90", ".entry k() .maxclusterrank 2 {ret;}"),
    ("8.3 sm_70", ".global .b128 x;"), ("4.2 sm_53", ".entry k() {.reg .f16x2 %x; ret;}"),
    ("3.1 sm_20", ".global .u32 y; .global .u64 x = generic(y);"),
    ("6.0 sm_30", ".func f(.param .align 8 .b8 b[]) {ret;}"),
    ("7.1 sm_20", ".global .b32 y; .global .u8 x[2] = {0xff(y), 1};"),
    ("2.1 sm_20", ".entry k() {.reg .b64 %d; p: .callprototype _ (); call %d, p; ret;}"),
    ("6.0 sm_30", ".entry k() {.reg .b32 %r; t: .branchtargets L; brx.idx %r, t; L: ret;}"),
    ("2.0 sm_20", ".entry k() {.pragma \"nounroll\"; ret;}"),
    ("3.1 sm_35", ".entry k() {.reg .b64 %d; mov.u64 %d, k; ret;}"),
    ("5.0 sm_20", ".entry k() {.reg .b32 %r; mov.u32 %r, %clock_hi; ret;}"),
]  # fmt: skip


@pytest.mark.parametrize(("need", "text"), DECLARED, ids=[text for _, text in DECLARED])
def test_declarations(need, text, tmp_path) -> None:
    version, target = need.split()
    earlier = VERSIONS[VERSIONS.index(version) - 1]
    smaller = [t for t in TARGETS if int(t[3:]) < int(target[3:])][-1]
    for declared, gpu, taken in ((version, target, True), (earlier, target, False), (VERSIONS[-1], smaller, False)):
        if (declared != version and TARGETS[target] >= tuple(map(int, version.split(".")))) or target == "sm_20" != gpu:
            continue  # the target is younger than the feature, or has it in all its versions
        module = f".version {declared}\n.target {gpu}\n{text}\n"
        problems = [str(problem) for problem in verify(parse(module, "x"))]
        assert (problems == []) == taken, (module, problems)
        assert taken or "the module declares" in problems[0]
        if PTXAS is not None:
            path = tmp_path / "module.ptx"
            path.write_text(module)
            command = [PTXAS, "-arch=compute_120", str(path), "-o", "/dev/null"]
            assert (subprocess.run(command, capture_output=True, check=False).returncode == 0) == taken


def test_a_message_names_line_feature_need_and_declaration() -> None:
    text = ".version 7.0\n.target sm_75\n.entry k() {.reg .b32 %r<3>;\nredux.sync.add.u32 %r1, %r2, -1;\nret;}\n"
    assert [str(problem) for problem in verify(parse(text, "x.ptx"))] == [
        "x.ptx:4:1: 'redux' needs .target sm_80 or later, the module declares sm_75, "
        "in: redux.sync.add.u32 %r1, %r2, -1;"
    ]
    text = text.replace("7.0", "9.1")  # a later version may have it on other targets
    assert verify(parse(text, "x.ptx")) == []
