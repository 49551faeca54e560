"""The memory chart: who asks, L1, L2 and DRAM, with bytes and hit rates on the edges."""

from collections.abc import Mapping
from typing import NamedTuple

from rayplay.replay.verdict import percent
from rayplay.report.charts import WIDTH, figure, label
from rayplay.report.markup import Markup, tag
from rayplay.report.run import Run
from rayplay.report.tables import sized, table, wide

SECTOR_BYTES = 32
KINDS = ("hits", "pending_hits", "line_misses", "sector_misses")
BOX, HIGH = 150.0, 46.0  # width and height of a box
GAP = (2 * WIDTH - 4 * BOX - 2) / 3  # between boxes


class Edge(NamedTuple):
    """Traffic from one level to the next: bytes read, bytes written, and bytes of all that hit."""

    name: str
    read: int
    written: int
    hits: int | None  # bytes; None: the level behind has all

    @property
    def hit_rate(self) -> float | None:
        """Share of the accesses that hit; None without accesses, or where everything is there."""
        return None if self.hits is None or not self.read + self.written else self.hits / (self.read + self.written)

    @property
    def words(self) -> tuple[str, str]:
        """Two lines of text."""
        rate = "" if self.hit_rate is None else f"{percent(self.hit_rate)} hits"
        return f"{sized(self.read)} read, {sized(self.written)} written", rate


def edges(run: Run) -> list[Edge]:
    """LSU to L1, RT units to L1, L1 to L2, L2 to DRAM. Bytes are 32 a sector, of DRAM as its commands move."""
    l1, l2, rt, dram = (run.counters.get(unit, {}) for unit in ("l1d", "l2", "rt_unit", "dram"))
    whole, rays = accesses(l1), accesses(rt)
    atoms = dram.get("reads", 0) + dram.get("writes", 0)
    atom_bytes = int(run.value("dram_bytes")) // atoms if atoms else 0
    lsu = Edge("LSU to L1", *(max(ours - theirs, 0) for ours, theirs in zip(whole, rays, strict=True)))
    return [
        lsu, Edge("RT units to L1", *rays), Edge("L1 to L2", *accesses(l2)),
        Edge("L2 to DRAM", dram.get("reads", 0) * atom_bytes, dram.get("writes", 0) * atom_bytes, None),
    ]  # fmt: skip


def accesses(found: Mapping[str, int]) -> tuple[int, int, int]:
    """Bytes read, written, and hit (what joins a fetch under way included), of a cache's counters or an RT unit's."""
    read, written = (
        sum(found.get(f"{of}_{kind}", 0) for kind in (*KINDS, "misses")) * SECTOR_BYTES for of in ("read", "write")
    )
    hits = sum(found.get(f"{of}_{kind}", 0) for of in ("read", "write") for kind in ("hits", "pending_hits"))
    return read, written, hits * SECTOR_BYTES


def memory(run: Run) -> Markup:
    """The chart, and its numbers as a table."""
    found = edges(run)
    rows = [(e.name, e.read, e.written, None if e.hit_rate is None else round(100 * e.hit_rate, 2)) for e in found]
    heads = ("from and to", "bytes read", "bytes written", "hits in %")
    return tag(
        "div", wide("Memory", memory_chart(run, found)), table(heads, rows, "Bytes between the levels of memory")
    )


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
        drawn.append(tag("path", d=f"M{x:g} {begin:g}L{until:g} {end:g}", class_="arrow"))
        drawn.append(tag("path", d=f"M{until - 7:g} {end - 4:g}l7 4l-7 4", class_="arrow"))
        (over, under), middle = edge.words, (x + until) / 2
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
