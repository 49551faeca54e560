"""Hostile files of other simulators and tools: kernel lists, kernels, dumps of RT units, measurements."""

import lzma
from collections.abc import Callable
from pathlib import Path

from tests.formats.exchange.accelsim.test_import import BODY, write
from tests.formats.exchange.accelsim.test_raster import write_list, write_stream
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


def drawn(change: Callable[[str], str], write: Callable[[Path], Path] = write_stream) -> Callable[[Path], object]:
    """Write CRISP's text of two draws, or its kernel list, that ``change`` has changed."""

    def make(folder: Path) -> None:
        path = write(folder)
        path.write_text(change(path.read_text()))

    return make


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
    Case("draw with a kernel that is not there", "listing", drawn(lambda t: t.replace("func1", "func7"), write_list),
         "kernelslist.g:6: names .*func7.*not a file beside the list"),
    Case("draw's memory without bytes of a CTA", "listing", drawn(lambda t: t.replace("1500,12", "1500"), write_list),
         "kernelslist.g:1: must be MemcpyVulkan,0xADDRESS,BYTES,BYTES_OF_A_CTA"),
    Case("texture of 10^19 bytes", "listing", drawn(lambda t: t.replace("65536,0", f"{10**19},0"), write_list),
         "kernelslist.g:5: must be dumpTextures,0xADDRESS,BYTES,BYTES_OF_A_CTA"),
    Case("draws of nothing", "stream", drawn(lambda t: ""), "app.traceg: must have a stage of a draw"),
    Case("draws of NUL bytes", "stream", drawn(lambda t: "\0" * 1_000_000 + "\n"),
         "app.traceg:1: must be 'WARP, PC MASK"),
    Case("draws with a line of 10 MB", "stream", drawn(lambda t: t + "0" * 10_000_000), "app.traceg"),
    Case("draws cut in an instruction", "stream", drawn(lambda t: t[: t.rindex("FMUL")]), "app.traceg: must end with"),
    Case("draws cut in a list of addresses", "stream", drawn(lambda t: t.replace("0x30000180 ", "")),
         "app.traceg:10:.*a number must stand here"),
    Case("warp 999,999,999", "stream", drawn(lambda t: t.replace("3, ", "999999999, ")),
         "app.traceg:20: must follow the instructions of 1000000000 warps"),
    Case("warp of 10,000 digits", "stream", drawn(lambda t: t.replace("3, ", "3" * 10_000 + ", ")),
         "app.traceg:4: must be 'WARP, PC MASK"),
    Case("CTAs of 0 threads", "stream", drawn(lambda t: t.replace("block_dim, 64", "block_dim, 0")),
         "app.traceg:1: block_dim must be a multiple of 32"),
    Case("stage without a name", "stream", drawn(lambda t: t.replace("MESA_SHADER_FRAGMENT_func1_main", "")),
         "app.traceg:39: must be 'graphics kernel end: NAME'"),
    Case("a warp of the stage before", "stream", drawn(lambda t: t.replace("5, 0860", "2, 0860")),
         "app.traceg:25: the warp must be 4 or later, found 2"),
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
