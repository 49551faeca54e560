"""What Vulkan-Sim's released configurations have otherwise than ours (``reference/vulkan-sim.md`` 1.4 and 1.10)."""

RULES = ["rt.mshr_limit=vulkan-sim", "rt.response=vulkan-sim"]
RELEASED = {
    "mobile": [
        *RULES, "sm.warps=16", "sm.ctas=16", "l1.bytes=32768", "l1.ways=256", "l2.bytes=524288",
    ],
    "rtx2060": RULES,
}  # fmt: skip
