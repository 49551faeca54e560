"""Survival of damage, malice and interruption: suites that CI runs shortly and ``make reliability`` at length."""
