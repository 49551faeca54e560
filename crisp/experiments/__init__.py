"""The experiments, in the order of the paper's figures; each is a file here and a name in this list."""

from rayplay.crisp.experiments import batches, composition, frames, owners, quads, ratio, slicer, texture, three, ways

EXPERIMENTS = tuple(
    one.EXPERIMENT for one in (batches, quads, frames, texture, composition, slicer, ratio, ways, owners, three)
)
