"""Pictures of each scene's steps: heatmap, quantised heatmap, groups and selected pixels (Figs. 4 to 9)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rayplay.zatel.paper.heatmap import heat_colour, normalise
from rayplay.zatel.paper.pictures import DIMMED, group_colours
from rayplay.zatel.study.draw import save
from rayplay.zatel.study.execute import SceneStudy
from rayplay.zatel.study.points import RTX

PANELS = ("heatmap", "quantised", "groups, K = {}", "selected, 10 %")


def draw_scenes(studies: Sequence[SceneStudy], path: Path) -> None:
    """Draw a row of pictures for each scene, with RTX 2060's groups and their representative tenth of the pixels."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(studies), len(PANELS), figsize=(9, 2.3 * len(studies)), layout="constrained", squeeze=False
    )
    for row, study in zip(axes, studies, strict=True):
        for axis, title, picture in zip(row, PANELS, _pictures(study), strict=True):
            axis.imshow(picture, interpolation="nearest")
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(title.format(study.tenth(RTX).groups.max() + 1), fontsize=8)
        row[0].set_ylabel(study.scene)
    save(figure, path)


def _pictures(study: SceneStudy) -> list[np.ndarray]:
    plan = study.tenth(RTX)
    quantised = plan.heatmap.colours[plan.heatmap.labels]
    selected = np.any([chosen.pixels for group in plan.selections for chosen in group], axis=0)
    shown = quantised * np.where(selected, 1.0, DIMMED)[..., None]
    return [heat_colour(normalise(study.work)), quantised, group_colours(plan.groups), shown]
