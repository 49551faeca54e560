"""A GPU in plain Python, one method call per unit and cycle: the readable definition of the model ``pipeline``.

It follows the events of Accel-Sim (docs/sources/accel-sim.md#execution-model) in their order, without skipping a cycle
and without numba. The engine in ``replay/`` must equal it in every cycle and counter. Nothing here imports ``replay``.
"""
