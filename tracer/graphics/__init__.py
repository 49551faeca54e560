"""Draws: a textured scene through vertex shader, rasteriser and fragment shader, each stage a launch of the trace.

The files in the order of the data flow: ``frame`` (camera, light, constants), ``mipmaps`` and ``maps`` (textures),
``geometry`` (vertex buffers and their shading), ``fragments`` (varyings in, colours out), ``stages`` (all draws of a
scene).
"""
