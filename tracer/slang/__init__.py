"""Shaders in Slang or HLSL: compiled to PTX by packages of PyPI, bound to a scene by the compiler's reflection."""
