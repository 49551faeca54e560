"""Rayplay: a trace-driven simulator of ray tracing on GPUs. The packages beside this folder are its sub-packages."""
