"""The study: animations on simulated GPUs under every controller, and a verdict on each finding."""

LAYERS = ("plan", "page", "run")
