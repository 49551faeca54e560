"""Compute kernels: CUDA C++, the PTX it compiles to, and a launch file with grid, block and buffers for each."""
