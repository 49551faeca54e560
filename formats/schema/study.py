"""The studies: of Zatel, every prediction of every scene beside the full replay, and of CRISP, every number.

A study's folder holds its tables as Parquet, figures as PNG, the tables of the figures and the comparison with
the paper as Markdown, and a manifest. What other machines cannot repeat, times and what follows from them, is in
``times``, in Figures 14, 15 and 19 and in the sentences about speed; everything else is the same from run to run.
"""

from rayplay.formats.schema.column import STRING, Column, Format, Table

PREDICTIONS = Table(
    "predictions", "predicted metric", columns=(
        Column("prediction", "uint32", "id", "Number of the prediction, of seven metrics.", sorted=True),
        Column("study", STRING, "name", "Which study asked for it: whole, fractions, downscaling, regression, tuning."),
        Column("scene", STRING, "name", "Scene."),
        Column("warmth", "float64", "1", "Mean warmth 1 - c_i of the scene's pixels."),
        Column("gpu", STRING, "name", "GPU."),
        Column("factor", "uint16", "count", "K: groups, and how many times smaller their GPU is."),
        Column("division", STRING, "name", "fine or coarse."),
        Column("block", STRING, "pixels", "Width x height of a section block."),
        Column("distribution", STRING, "name", "uniform, lintmp or exptmp."),
        Column("extrapolation", STRING, "name", "linear or regression."),
        Column("asked", "float64", "1", "Part of the pixels asked for; NaN: by equation (1)."),
        Column("seed", "uint32", "id", "Seed of clustering and selection."),
        Column("fraction", "float64", "1", "Part of the image's pixels that was replayed (of the last fraction)."),
        Column("metric", STRING, "name", "Name of the metric."),
        Column("predicted", "float64", "as in summary.json", "Predicted value; NaN without one."),
        Column("full", "float64", "as in summary.json", "Value of the full replay; NaN without one."),
        Column("error", "float64", "1", "(predicted - full) / |full|; NaN where one is missing."),
    ),
)  # fmt: skip

TIMES = Table(
    "times", "prediction", columns=(
        Column("prediction", "uint32", "id", "Number of the prediction.", sorted=True),
        Column("seconds", "float64", "s", "Processor time of its replays together."),
        Column("longest_seconds", "float64", "s", "Processor time of its longest replay: with a core per group."),
        Column("full_seconds", "float64", "s", "Processor time of the full replay."),
    ),
)  # fmt: skip

STUDY = Format("rayplay study", (1, 0), (PREDICTIONS, TIMES))

VALUES = Table(
    "values", "number of an experiment", columns=(
        Column("experiment", STRING, "name", "Which experiment, a file of crisp/experiments."),
        Column("gpu", STRING, "name", "GPU; empty: none is simulated. Likewise the following."),
        Column("size", STRING, "pixels", "Width x height of the picture."),
        Column("graphics", STRING, "name", "Picture of the suite."),
        Column("partner", STRING, "name", "Compute kernels beside it."),
        Column("partition", STRING, "name", "How the GPU is divided among them."),
        Column("variant", STRING, "name", "Difference from the rest: without levels of detail, a class alone."),
        Column("quantity", STRING, "name", "Name of the number."),
        Column("at", "float64", "see quantity", "Place along a series (cycle, indices, lines, kernel), or NaN."),
        Column("value", "float64", "see quantity", "The number; shares and rates are parts of 1."),
    ),
)  # fmt: skip

CRISP_STUDY = Format("rayplay crisp study", (1, 0), (VALUES,))
