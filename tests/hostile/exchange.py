"""Hostile files of other simulators and tools: kernel lists, kernels, dumps of RT units, measurements."""

import lzma
from collections.abc import Callable
from pathlib import Path

from tests.formats.exchange.accelsim.test_import import BODY, write
from tests.formats.exchange.test_vulkan_sim import DUMP
from tests.hostile.tables import HEAD, measured, text
from tests.hostile.verbs import Case


def kernel(change: Callable[[str], str]) -> Callable[[Path], object]:
    """Write a kernel list whose kernel ``change`` has changed."""

    def make(folder: Path) -> None:
        write(folder)
        file = folder / "kernel-1.traceg"
        file.write_text(change(file.read_text()))

    return make


def listing(content: str) -> Callable[[Path], object]:
    """Write a kernel list beside a kernel."""
    return lambda folder: write(folder).write_text(content)


def packed(size: int) -> Callable[[Path], object]:
    """Write a dump that unpacks to one line of ``size`` bytes."""
    return lambda folder: (folder / "a.txt").write_bytes(b"A 0 0 0 " + b"1" * size)


def bomb(folder: Path) -> None:
    """Write a kernel of 2 GB in 300 KB."""
    write(folder).write_text("kernel-1.traceg.xz\n")
    packer = lzma.LZMACompressor()
    with (folder / "kernel-1.traceg.xz").open("wb") as file:
        for _ in range(2000):
            file.write(packer.compress(bytes(1_000_000)))
        file.write(packer.flush())


CASES = (
    Case("kernel list of 70 MB", "listing", listing("kernel-1.traceg\n" + "#" * 70_000_000), "--limit list-bytes"),
    Case("kernel list of nothing", "listing", listing(""), "must name at least one kernel"),
    Case("kernel of another folder", "listing", listing("kernel-../../x.traceg\n"), "beside the list"),
    Case("kernel that is not there", "listing", listing("kernel-2.traceg\n"), "not a file beside the list"),
    Case("copy of 2^64 bytes", "listing", listing(f"MemcpyHtoD,0x10,{1 << 64}\nkernel-1.traceg\n"),
         "must be MemcpyHtoD"),
    Case("kernel packed to nothing", "listing", bomb, "--limit ratio|header"),
    Case("grid of 2^32 - 1 CTAs", "listing", kernel(lambda t: t.replace("(1,1,1)", "(4294967295,1,1)", 1)), "kernel-1"),
    Case("block of 2^32 threads", "listing", kernel(lambda t: t.replace("(32,1,1)", "(4294967296,1,1)")), "block dim"),
    Case("shared memory of 2^63", "listing", kernel(lambda t: t.replace("128", str(1 << 63), 1)), "shmem"),
    Case("header without an end", "listing", kernel(lambda t: "-a = b\n" * 1_000_000), "header of at most 64 lines"),
    Case("a line of 10 MB", "listing", kernel(lambda t: t + "0" * 10_000_000), "kernel-1.traceg"),
    Case("2^40 instructions of a warp", "listing", kernel(lambda t: t.replace("insts = 8", f"insts = {1 << 40}")),
         "insts"),
    Case("PC of 2^63", "listing", kernel(lambda t: t.replace("0010 0000000f", f"{1 << 63:x} 0000000f")),
         "kernel-1.traceg"),
    Case("opcode of 1 MB", "listing", kernel(lambda t: t.replace("FFMA", "F" * 1_000_000)),
         "kernel-1.traceg|string-bytes"),
    Case("CTA after CTA without an end", "listing", kernel(lambda t: t + BODY.replace("#END_TB", "")),
         "kernel-1.traceg"),
    Case("dump of nothing", "dump", text("a.txt", ""), "at least one line"),
    Case("dump of a line of 100 MB", "dump", packed(100_000_000), "a.txt"),
    Case("dump of NUL bytes", "dump", text("a.txt", "\0" * 1_000_000), "a.txt"),
    Case("warp slot 10^18", "dump", text("a.txt", DUMP.replace("A 0 0", f"A {10**18} 0", 1)), "a.txt"),
    Case("measurements of 70 MB", "nsight", measured("1,1,1\n" + "#" * 70_000_000), "--limit list-bytes"),
    Case("a million columns", "nsight", text("a.csv", HEAD.replace("\n", "," * 1_000_000 + "\n") + "k,1,1,1\n"),
         "a.csv"),
    Case("a quotation without an end", "nsight", text("a.csv", HEAD + '"' + "x\n" * 1_000_000), "a.csv"),
    Case("an integer of 10,000 digits", "nsight", measured("9" * 10_000 + ",1,1"), "a.csv"),
)  # fmt: skip
