"""A folder of shaders as Vulkan-Sim leaves it, bound to one of our scenes."""
