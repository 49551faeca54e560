"""Machines that run a program: a CUDA device, and this project's executor in its stead."""
