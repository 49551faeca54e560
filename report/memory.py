"""The memory chart: who asks, L1, L2 and DRAM, with bytes and hit rates on the edges."""

from collections.abc import Mapping
from typing import NamedTuple

from rayplay.replay.verdict import percent
from rayplay.report.charts import WIDTH, figure, label
from rayplay.report.markup import Markup, tag
from rayplay.report.run import Run, flat
from rayplay.report.tables import sized, table, wide

SECTOR_BYTES = 32
KINDS = ("hits", "pending_hits", "line_misses", "sector_misses")
NOTE = (
    "Bytes that each level reads from the next one and writes to it, in sectors of 32 B (of DRAM as its commands move),"
    " and the share that hits there."
)
BOX, HIGH = 150.0, 46.0  # width and height of a box
GAP = (2 * WIDTH - 4 * BOX - 2) / 3  # between boxes


class Edge(NamedTuple):
    """Bytes that one level reads from the next and writes to it, and how many of each hit there."""

    name: str
    read: int
    written: int
    read_hits: int | None  # None: the level behind has all
    write_hits: int | None

    @property
    def words(self) -> tuple[str, str]:
        """A line on reads, which bring data from right to left, and one on writes."""
        return (
            f"\u2190 {sized(self.read)} read{hit_words(self.read_hits, self.read)}",
            f"\u2192 {sized(self.written)} written{hit_words(self.write_hits, self.written)}",
        )


def rate(hits: int | None, of: int) -> float | None:
    """Share of the accesses that hit; None without accesses, or where everything is there."""
    return None if hits is None or not of else hits / of


def hit_words(hits: int | None, of: int) -> str:
    """A hit rate, to follow the bytes."""
    found = rate(hits, of)
    return "" if found is None else f", {percent(found)} hits"


def edges(run: Run) -> list[Edge]:
    """LSU and L1, RT units and L1, L1 and L2, L2 and DRAM. Bytes are 32 a sector, of DRAM as its commands move."""
    l1, l2, rt, dram = (run.counters.get(unit, {}) for unit in ("l1d", "l2", "rt_unit", "dram"))
    whole, rays = accesses(l1), accesses(rt)
    atoms = dram.get("reads", 0) + dram.get("writes", 0)
    atom_bytes = int(run.value("dram_bytes")) // atoms if atoms else 0
    lsu = Edge("LSU and L1", *(max(ours - theirs, 0) for ours, theirs in zip(whole, rays, strict=True)))
    return [
        lsu, Edge("RT units and L1", *rays), Edge("L1 and L2", *accesses(l2)),
        Edge("L2 and DRAM", dram.get("reads", 0) * atom_bytes, dram.get("writes", 0) * atom_bytes, None, None),
    ]  # fmt: skip


def accesses(found: Mapping[str, int]) -> tuple[int, int, int, int]:
    """Bytes read, written, read hits, written hits, of a cache's counters or an RT unit's; joining a fetch is a hit."""
    read, written = (
        sum(found.get(f"{of}_{kind}", 0) for kind in (*KINDS, "misses")) * SECTOR_BYTES for of in ("read", "write")
    )
    read_hits, write_hits = (
        sum(found.get(f"{of}_{kind}", 0) for kind in ("hits", "pending_hits")) * SECTOR_BYTES
        for of in ("read", "write")
    )
    return read, written, read_hits, write_hits


def memory(run: Run) -> Markup:
    """The chart, and its numbers as a table."""
    found = edges(run)
    rows = [
        (e.name, e.read, e.written, in_percent(rate(e.read_hits, e.read)), in_percent(rate(e.write_hits, e.written)))
        for e in found
    ]
    heads = ("between", "bytes read", "bytes written", "hits of reads in %", "hits of writes in %")
    return tag(
        "div", wide("Memory", memory_chart(run, found)), table(heads, rows, "Bytes between the levels of memory")
    )


def in_percent(share: float | None) -> float | None:
    """A share as the table has it."""
    return None if share is None else round(100 * share, 2)


def memory_note(run: Run) -> str:
    """Meaning of the numbers, and why stores miss."""
    gpu, said = flat(run.gpu), NOTE
    if gpu.get("l1.write_allocate") == "none":
        said += (
            " A store that misses L1 fetches nothing into it (l1.write_allocate = none): it hits what reads brought."
        )
    if str(gpu.get("l2.write_allocate", "")).startswith("lazy"):
        said += " A write that misses L2 fetches only when it is read later, so DRAM reads are fewer than L2's misses."
    return said


def memory_chart(run: Run, found: list[Edge]) -> Markup:
    """Boxes from left to right; an edge's words stand over and under its arrow."""
    sms = f"{len(run.slots[0])} SMs" if run.explained else "SMs"
    columns = [1 + place * (BOX + GAP) for place in range(4)]
    used = f"{percent(run.value('bandwidth_utilisation'))} of the bandwidth"
    boxes = [
        (columns[0], 8.0, f"LSUs of {sms}", ""), (columns[0], 78.0, "RT units", ""), (columns[1], 43.0, "L1", ""),
        (columns[2], 43.0, "L2", ""), (columns[3], 43.0, "DRAM", used),
    ]  # fmt: skip
    drawn = [box(*each) for each in boxes]
    ways = ((0, 1, 31.0, 58.0), (0, 1, 101.0, 74.0), (1, 2, 66.0, 66.0), (2, 3, 66.0, 66.0))
    for edge, (first, second, begin, end) in zip(found, ways, strict=True):
        x, until = columns[first] + BOX, columns[second] - 4
        drawn.append(tag("path", d=f"M{x + 4:g} {begin:g}L{until:g} {end:g}", class_="arrow"))
        drawn.append(tag("path", d=f"M{until - 7:g} {end - 4:g}l7 4l-7 4", class_="arrow"))
        drawn.append(tag("path", d=f"M{x + 11:g} {begin - 4:g}l-7 4l7 4", class_="arrow"))
        (over, under), middle = edge.words, (x + until) / 2 + (0 if begin == end else 25)
        first_line, second_line = (58.0, 80.0) if begin == end else (14.0, 28.0) if begin < end else (114.0, 128.0)
        drawn += [
            label(middle, first_line, over, "middle", "edge"),
            label(middle, second_line, under, "middle", "edge"),
        ]
    said = "; ".join(f"{edge.name}: {', '.join(filter(None, edge.words))}" for edge in found)
    return figure(Markup("".join(drawn)), 2 * WIDTH, 134, f"Memory: {said}; DRAM: {used}")


def box(x: float, y: float, name: str, below: str) -> Markup:
    """A level of memory, or who asks."""
    words = [label(x + BOX / 2, y + (20 if below else 27), name, "middle", "strong")]
    words += [label(x + BOX / 2, y + 36, below, "middle")] if below else []
    return Markup("".join([tag("rect", x=x, y=y, width=BOX, height=HIGH, rx=6, class_="box"), *words]))
