"""The tuner of Ganestam and Doggett: the time of a ray-traced frame predicted, and its parameters chosen to hold a
target."""

LAYERS = (
    "device", "counts", "hong_kim", "model", "controller", "settings", "host_look", "knobs", "loops", "executed",
    "traced", "kernel", "hardware", "workload", "schedule", "modern", "fit", "plant", "times", "loop", "report",
    "study", "verbs",
)  # fmt: skip
