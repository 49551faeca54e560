"""CUDA programs as they are: their host code runs, with a runtime library of ours whose kernels Rayplay executes."""

LAYERS = ("elf", "fatbin", "messages", "card", "images", "device", "library", "session", "run")
"""Files in the order of the data flow: each imports only itself and earlier ones."""
