"""From a program and a scene to a trace: acceleration structure, rays, and every warp's execution."""

from rayplay.formats.guard.code_cache import use_numba_cache

use_numba_cache("tracer")
