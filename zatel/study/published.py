"""Numbers in the paper's text (other values of its figures are only drawn). Errors are fractions of 1."""

SPEEDUP_LAW = (181.0, -1.15)  # equation (4)

# Zatel IV-B, PARK: mean absolute error with equation (1), error of the cycles; and with a tenth of the pixels
WHOLE_ERROR = {"mobile": 0.045, "rtx2060": 0.151}
WHOLE_CYCLES_ERROR = {"mobile": 0.007}
TENTH_ERROR = {"mobile": 0.052}

# Zatel IV-B, Fig. 11: difference of the normalised metrics, predicted against simulated
RELATIVE_DIFFERENCE = {"l2_miss_rate": 0.376, "l1d_miss_rate": 0.006}

# Zatel IV-D, Fig. 13: error of the cycles at a tenth of the pixels; for SPRNG, which has no counterpart here, above 1
TENTH_CYCLES_ERROR = {"rtx2060": {"bunny": 0.147}, "mobile": {"chsnt": 0.091, "spnza": 0.004}}

# Table III: best distribution, best section block, mean absolute error; scenes from cold to warm
TUNING = {
    "ship": {
        "gpu_ipc": ("uniform", "any", 0.360), "gpu_cycles": ("uniform", "any", 0.731),
        "l1d_miss_rate": ("uniform", "any", 0.139), "l2_miss_rate": ("uniform", "any", 0.088),
        "bandwidth_utilisation": ("any", "any", 0.373), "dram_efficiency": ("uniform", "any", 0.125),
        "rt_efficiency": ("any", "any", 0.199),
    },
    "wknd": {
        "gpu_ipc": ("any", "32x16", 0.295), "gpu_cycles": ("uniform", "any", 0.883),
        "l1d_miss_rate": ("uniform", "any", 0.027), "l2_miss_rate": ("any", "any", 0.066),
        "bandwidth_utilisation": ("any", "any", 0.344), "dram_efficiency": ("any", "any", 0.067),
        "rt_efficiency": ("exptmp", "any", 0.039),
    },
    "bunny": {
        "gpu_ipc": ("any", "32x32", 0.163), "gpu_cycles": ("any", "any", 0.136),
        "l1d_miss_rate": ("any", "any", 0.007), "l2_miss_rate": ("any", "any", 0.038),
        "bandwidth_utilisation": ("any", "any", 0.163), "dram_efficiency": ("any", "32x32", 0.057),
        "rt_efficiency": ("any", "any", 0.081),
    },
}  # fmt: skip
