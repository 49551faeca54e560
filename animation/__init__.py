"""Animations: a first look at all frames, or a scene traced frame after frame into one folder, each frame replayed or
estimated, a table and a film strip."""

LAYERS = ("frames", "measure", "look", "strip", "verb")
