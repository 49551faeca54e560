"""Zatel: predict the performance of a whole image from a part of its pixels (Grigoryan, Chou, Aamodt).

The seven steps of Zatel Fig. 3, in the order of the files: ``heatmap`` (1), ``quantise`` (2), ``downscale`` (3),
``divide`` (4), ``select`` (5), ``formats.edit.filter`` and ``simulate`` (6), ``combine`` (7); ``predict`` calls them in
turn, ``pictures`` and ``report`` show what they found, ``publish`` writes it.
"""

from rayplay.replay import ENGINE

LAYERS = ("replays", "paper", "model", "sample", "changes", "study", "verbs")
CODE = ("zatel/model", "zatel/paper/work_per_pixel.py", "replay/geometry.py", *ENGINE)  # decide its machine code
