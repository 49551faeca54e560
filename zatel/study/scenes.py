"""Pictures of each scene's steps: heatmap, quantised heatmap, groups and selected pixels (Figs. 4 to 9)."""

from collections.abc import Sequence
from pathlib import Path

from rayplay.zatel.paper.pictures import step_colours
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
        for axis, title, picture in zip(row, PANELS, step_colours(study.work, study.tenth(RTX)).values(), strict=True):
            axis.imshow(picture, interpolation="nearest")
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(title.format(study.tenth(RTX).groups.max() + 1), fontsize=8)
        row[0].set_ylabel(study.scene)
    save(figure, path)
