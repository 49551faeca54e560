"""Vulkan-Sim's PTX dialect to ordinary PTX with OptiX's calls: read, find what pointers mean, lower, join."""
