"""Zatel: predict the performance of a whole image from a part of its pixels (Grigoryan, Chou, Aamodt).

``paper`` holds the seven steps of Zatel Fig. 3: ``heatmap`` (1), ``quantise`` (2), ``downscale`` (3), ``divide`` (4),
``select`` (5), ``formats.edit.filter`` and ``replays.simulate`` (6), ``replays.metrics`` (7); ``predict`` calls them in
turn, ``write`` writes the prediction. ``model`` and ``sample`` are the estimator (``docs/estimate.md``), ``changes``
compares designs and machine sizes with it, ``study`` repeats the paper's evaluation.
"""

from rayplay.replay.layers import ENGINE

LAYERS = ("replays", "paper", "model", "sample", "changes", "study", "verbs")
CODE = ("zatel/model", "zatel/paper/work_per_pixel.py", "replay/geometry.py", *ENGINE)  # decide its machine code
