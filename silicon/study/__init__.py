"""The study of ``make correlate``: every described card beside every measured row, with plots, tables and verdicts."""
