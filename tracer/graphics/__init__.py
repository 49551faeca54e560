"""Draws: a textured scene through vertex shader, rasteriser and fragment shader, each stage a launch of the trace.

The files in the order of the data flow: ``choices`` (names of rules), ``shaders`` (a program and its constants),
``environment`` (light from around), ``frame`` (camera, light), ``mipmaps``, ``stored`` and ``maps`` (textures),
``geometry`` (vertex buffers and their shading), ``fragments`` (varyings in, colours out), ``traffic`` (their places in
the trace), ``stages`` (all draws).
"""
