"""Sweeps: a design study of hundreds of points that cannot lose a result (docs/sweep.md).

In the order of the data flow: ``space`` reads a sweep file and makes its points, ``store`` keeps results and claims by
key, ``plan`` gives each point its key and says why it would run, ``point`` runs one, ``executors`` run many,
``drive`` follows a sweep to its end, ``show`` makes the table and the page, ``explore`` chooses points worth a full
replay, ``growth`` simulates the scheduler at sizes beyond measurement, ``verbs`` are the commands.
"""

LAYERS = ("space", "store", "plan", "point", "executors", "drive", "show", "explore", "growth", "verbs")
