"""Placeholder, replaced by the package's owner."""
