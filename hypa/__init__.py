"""HyPA: exact profiles of a launch from the slice that decides where its threads go (hybrid program analysis)."""

LAYERS = ("slicing", "count", "visits", "slices", "profile", "session", "report", "network", "verbs")
