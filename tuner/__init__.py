"""The tuner of Ganestam and Doggett: the time of a ray-traced frame predicted, and its parameters chosen to hold a
target."""

LAYERS = (
    "device", "counts", "hong_kim", "model", "controller", "loops", "kernel", "workload", "executed", "schedule",
    "modern", "fit", "loop", "report", "study", "verbs",
)  # fmt: skip
