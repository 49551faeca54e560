"""Ray-tracing programs: CUDA C++, the PTX it compiles to, and how each is bound to a scene."""
