"""The prediction of Zatel: metrics of the whole image from a part of its pixels, and which pixels these were.

``NAME.prediction/`` holds the tables below as Parquet, ``prediction.json`` (metrics, groups and how they were made),
the pictures of the steps as PNG, ``group-N.pixels`` (the filter file of each group), ``host.json`` (times of the
machine that predicted, the one file that differs from run to run) and a manifest.
"""

from rayplay.formats.schema.column import STRING, Column, Format, Table

METRICS = Table(
    "metrics", "metric of the paper's Table I", columns=(
        Column("metric", STRING, "name", "Name of the metric, as in summary.json of a result."),
        Column("predicted", "float64", "as in summary.json", "What the groups predict together; NaN without a value."),
        Column("full", "float64", "as in summary.json", "What the full replay says; NaN when it was not given."),
        Column("error", "float64", "1", "|predicted - full| / |full|; NaN where one is missing."),
    ),
)  # fmt: skip

GROUPS = Table(
    "groups", "group and metric", columns=(
        Column("group", "uint16", "id", "Number of the group, 0 to K - 1.", sorted=True),
        Column("pixels", "uint32", "count", "Pixels of the group."),
        Column("selected", "uint32", "count", "Pixels of the group that were simulated."),
        Column("fraction", "float64", "1", "selected / pixels."),
        Column("metric", STRING, "name", "Name of the metric."),
        Column("simulated", "float64", "as in summary.json", "What the replay of the selected pixels says."),
        Column("extrapolated", "float64", "as in summary.json", "The same for all pixels of the group."),
    ),
)  # fmt: skip

PIXELS = Table(
    "pixels", "pixel", columns=(
        Column("pixel_x", "uint16", "count", "Column, 0 at the left."),
        Column("pixel_y", "uint16", "count", "Row, 0 at the top.", sorted=True),
        Column("work", "float64", "thread instructions", "Work of the pixel, BVH records weighed as instructions; "
               "with another heatmap its cycles, or its heat."),
        Column("colour", "uint8", "id", "Colour of the quantised heatmap, 0 the coldest."),
        Column("group", "uint16", "id", "Group of the pixel."),
        Column("selected", "uint8", "1", "Whether the pixel was simulated.", values=("no", "yes")),
    ),
)  # fmt: skip

PREDICTION = Format("rayplay prediction", (1, 0), (METRICS, GROUPS, PIXELS))
