"""The experiments, in the order of the paper's figures; each is a file here and a name in this list."""

from rayplay.crisp.experiments import (
    batches,
    composition,
    detail,
    frames,
    lines,
    owners,
    quads,
    ratio,
    slicer,
    three,
    traffic,
    ways,
)

EXPERIMENTS = tuple(
    one.EXPERIMENT
    for one in (batches, quads, frames, detail, lines, composition, traffic, slicer, ratio, ways, owners, three)
)
