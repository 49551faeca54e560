"""The raster pipeline: from an index buffer and shaded vertices to fragments, and from their colours to a picture.

    batches = cut_batches(indices, len(vertices))            # which vertices are shaded, in which order
    triangles = batches.triangles(instances)                 # of their invocations
    framebuffer = Framebuffer.cleared(640, 480)
    fragments = rasterise(positions, triangles, framebuffer) # quads, warps, early depth test
    values = fragments.interpolate(varyings, triangles)      # perspective-correct
    write_colours(framebuffer, DrawState(), fragments, colours)

Files in the order of the data flow: ``batches``, ``state``, ``clip``, ``assemble``, ``tiles``, ``fragments``, ``cover``
(or ``crisp``), ``output``, ``pipeline``. All is deterministic: coverage is exact in whole numbers.
"""

from rayplay.tracer.raster.batches import VertexBatches, cut_batches
from rayplay.tracer.raster.fragments import Fragments
from rayplay.tracer.raster.output import write_colours
from rayplay.tracer.raster.pipeline import rasterise
from rayplay.tracer.raster.state import DrawState, Framebuffer

__all__ = ["DrawState", "Fragments", "Framebuffer", "VertexBatches", "cut_batches", "rasterise", "write_colours"]
