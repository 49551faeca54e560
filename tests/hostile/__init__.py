"""Hostile inputs: every verb on every case, each in a process of its own under limits (``tests/test_hostile.py``).

``cases`` lists the cases, ``verbs`` the command lines by kind of input, ``warm`` is the process that is forked for
each run, ``judge`` says what a run must come to.
"""
