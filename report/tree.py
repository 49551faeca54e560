"""The page of an acceleration structure: its boxes seen from the scene's camera, by depth, its cost, its reads."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.report import pictures
from rayplay.report.charts import histogram
from rayplay.report.document import document
from rayplay.report.markup import Child, Markup, tag
from rayplay.report.tables import section, sized, table
from rayplay.tracer.bvh.build import Acceleration
from rayplay.tracer.bvh.quality import LEVELS, Depth, Quality
from rayplay.tracer.bvh.xray import XRay

WORKING_SETS = (50, 80, 95, 99)  # percent of the fetches
MOST_FETCHED = 20
BRIGHTEST = 0.995  # quantile of a picture's pixels
COST = "Records that a random line through the scene's box fetches, were nothing to stop it (surface-area heuristic)."
OVERLAP = "Surface that pairs of a node's children share, per surface of the node; nodes weighted by their cost."


class Survey(NamedTuple):
    """An acceleration structure, how good it is, and its pictures; ``trace``: of the rays that fetched it."""

    name: str
    acceleration: Acceleration
    quality: Quality
    x_ray: XRay
    trace: Trace | None = None

    @property
    def per_ray(self) -> float | None:
        """Records that a ray of the trace fetched."""
        reads = self.quality.reads
        return None if reads is None or not self.quality.rays else float(reads.sum()) / self.quality.rays


def tree_page(survey: Survey) -> str:
    """The HTML of one structure."""
    parts = [header(survey), tag("div", tag("p", said(survey), class_="verdict"), class_="said"), numbers(survey),
             look(survey), strip(survey.x_ray), depths(survey), *fetches(survey)]  # fmt: skip
    return document(f"{survey.name}: acceleration structure", *parts)


def header(survey: Survey) -> Markup:
    """Scene, trace, builder, version."""
    counts = survey.acceleration.statistics
    facts: list[Child] = [f"{counts.instances:,} instances of {counts.bottom_levels:,} bottom levels",
                          f"{counts.internal_nodes:,} internal nodes"]  # fmt: skip
    facts += [f"trace {survey.trace.path.name}, {survey.quality.rays:,} rays"] if survey.trace is not None else []
    facts.append(f"rayplay {version('rayplay')}")
    return tag("header", tag("h1", survey.name), tag("ul", *(tag("li", fact) for fact in facts), class_="facts"))


def said(survey: Survey) -> str:
    """The structure in a sentence."""
    words = f"A random line through the scene fetches {survey.quality.cost:,.1f} BVH records, were nothing to stop it"
    return f"{words}." if survey.per_ray is None else f"{words}; a ray of the trace fetched {survey.per_ray:,.1f}."


def numbers(survey: Survey) -> Markup:
    """Six numbers, with their definitions on hover."""
    counts, found = survey.acceleration.statistics, survey.quality
    most, unit = sized(counts.image_bytes).split(" ")
    depth = f"{counts.top_depth} + {counts.bottom_depth}"
    shown: list[tuple[str, str, str, str, object]] = [
        ("Surface-area cost", f"{found.cost:,.1f}", "records", COST, found.cost),
        *((f"Overlap, {level} level", f"{found.overlap(level):,.3f}", "", OVERLAP, found.overlap(level))
          for level in LEVELS),
        ("Depth, top + bottom", depth, "nodes", "Internal nodes on the longest way down, of both levels.", depth),
        ("Primitives", f"{counts.triangles + counts.procedural:,}", "", "Triangles and spheres, instances not counted.",
         counts.triangles + counts.procedural),
        ("Size", most, unit, "Bytes of the structure in device memory.", counts.image_bytes),
    ]  # fmt: skip
    cards = [
        tag("div", tag("dt", label), tag("dd", tag("b", value, data_value=repr(exact)), " ", unit),
            data_tip=words, tabindex=0)
        for label, value, unit, words, exact in shown
    ]  # fmt: skip
    return tag("dl", *cards, class_="six")


def look(survey: Survey) -> Markup:
    """All boxes of a pixel's ray, beside the rendered picture where the trace has it."""
    total = survey.x_ray.top.sum(axis=0) + survey.x_ray.bottom.sum(axis=0)
    shown: list[Markup] = [boxes_picture(total, "boxes on the whole ray of each pixel")]
    trace = survey.trace
    if trace is not None and "image" in trace.tables and trace.rows("image"):
        columns = trace.read("image")
        radiance = np.stack([pictures.grid(columns, name) for name in ("red", "green", "blue")], axis=-1)
        picture = tag("img", src=pictures.photograph(radiance), alt="The rendered picture", class_="picture")
        shown.insert(0, tag("figure", picture, tag("figcaption", "rendered picture")))
    note = "A ray without an end, from the eye: what overlaps or hides behind others is bright."
    return section("Boxes", tag("div", *shown, class_="pair"), note=note)


def strip(x_ray: XRay) -> Markup:
    """A picture for each depth of each level."""
    shown = [
        boxes_picture(found, f"{level} level, depth {depth}")
        for level, of_level in zip(LEVELS, x_ray, strict=True)
        for depth, found in enumerate(of_level)
    ]
    note = "Depth 0 is the root of a level; each picture has its own scale."
    return section("Boxes by depth", tag("div", *shown, class_="strip"), note=note)


def boxes_picture(found: np.ndarray, name: str) -> Markup:
    """A heat map whose values are shown on hover."""
    most = max(float(np.quantile(found, BRIGHTEST)), 1.0)
    words = f"{name}: mean {found.mean():,.2f}, most {int(found.max()):,}"
    picture = tag("img", src=pictures.heat(found, most), alt=f"Boxes, {words}", class_="picture values", tabindex=0,
                  data_values=pictures.values(found), data_unit="boxes")  # fmt: skip
    return tag("figure", picture, tag("figcaption", words))


def depths(survey: Survey) -> Markup:
    """The table of depths, and the leaves by depth."""
    rows = survey.quality.depths
    heads = ["depth", "internal nodes", "leaves", "cost", "overlap"]
    heads += ["fetches", "fetches per ray"] if survey.quality.reads is not None else []
    leaves = [(str(depth.depth), depth.leaves) for depth in rows if depth.level == "bottom"]
    drawn = tag("div", histogram(leaves, "primitives by depth of the bottom levels"), class_="small")
    filled = table(heads, [row(depth, survey.quality.rays) for depth in rows], "Records by depth")
    return section("Depths", filled, drawn, note=f"Cost: {COST} Overlap: {OVERLAP}")


def row(depth: Depth, rays: int) -> tuple[object, ...]:
    """A line of the table; a depth without an internal node has no overlap."""
    overlap = None if np.isnan(depth.overlap) else depth.overlap
    reads = () if depth.reads is None else (depth.reads, depth.reads / rays if rays else None)
    return (f"{depth.level} {depth.depth}", depth.internal, depth.leaves, depth.cost, overlap, *reads)


def fetches(survey: Survey) -> Sequence[Markup]:
    """How many records hold most of the fetches, and the most fetched; nothing without a trace."""
    reads, kind = survey.quality.reads, survey.acceleration.node_kind
    if reads is None or not reads.any():
        return ()
    order = np.argsort(-reads, kind="stable")
    summed, size = np.cumsum(reads[order]), np.cumsum(survey.acceleration.node_bytes[order].astype(np.int64))
    least = [int(np.searchsorted(summed, summed[-1] * share / 100)) for share in WORKING_SETS]
    sets = [(f"{share} %", at + 1, int(size[at])) for share, at in zip(WORKING_SETS, least, strict=True)]
    most = [
        (int(record), NODE_KINDS[kind[record]], int(reads[record]), 100 * float(reads[record]) / float(summed[-1]))
        for record in order[:MOST_FETCHED]
    ]
    held = table(("fetches", "records", "bytes"), sets, "Fewest records with a share of the fetches")
    note = f"{int((reads > 0).sum()):,} of {len(reads):,} records are fetched at all."
    first = table(("record", "kind", "fetches", "share in %"), most, "Most fetched records")
    return section("Working set", held, note=note), section("Most fetched records", first)
