"""CRISP's evaluation (Pan, Rogers) as a program: raster, compute kernels and rays on one GPU, under partitions.

In the order of the data flow: ``suite`` names the pictures and their partners, ``sources`` makes traces, ``tasks``
counts what one holds or replays some together, ``study`` keeps what tasks found, ``values`` holds ours and the
published ones, ``draw`` has the forms of figures, ``experiments`` a file for each figure, ``pages`` writes the page,
``check`` compares a study with this engine, ``command`` is the verb.
"""

LAYERS = (
    "suite", "helpers", "sources", "texture", "replays", "tasks", "study", "values", "draw", "experiment", "pairs",
    "experiments", "pages", "check", "command",
)  # fmt: skip
