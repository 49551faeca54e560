"""Draws: a textured scene through vertex shader, rasteriser and fragment shader, each stage a kernel of the trace.

The files in the order of the data flow: ``frame`` (camera, light, textures, constants), ``geometry`` (vertex buffers and
their shading), ``fragments`` (rasterised, shaded, written to the picture), ``stages`` (all draws of a scene).
"""
