"""A GPU with SMs of the model ``characterised`` in plain Python, cycle by cycle: the readable definition of the model.

A warp stalls as many cycles as the characterisation of its last instruction says, and waits for the scoreboard slots
that its next one names (docs/replay.md). L1, crossbar, L2 and DRAM are the slow GPU's of the model ``pipeline``; the RT
unit is ``rt_unit_slow``. The engine in ``replay/`` must equal it in every cycle and counter. Nothing here imports
``replay``.
"""
