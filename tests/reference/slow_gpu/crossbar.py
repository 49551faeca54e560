"""Two networks of input and output buffers; each output takes from its inputs in turn (reference C)."""

from collections import deque

from .config import GpuConfig
from .request import Request


class Network:
    """Inputs to outputs."""

    def __init__(self, inputs: int, outputs: int, first_input: int, nodes: int, config: GpuConfig) -> None:
        self.inputs: list[deque[tuple[int, Request]]] = [deque() for _ in range(inputs)]
        self.outputs: list[deque[Request]] = [deque() for _ in range(outputs)]
        self.first_input, self.nodes = first_input, nodes
        self.input_limit, self.output_limit = config.crossbar_inputs, config.crossbar_outputs
        self.turn = [0] * outputs  # number of the node that an output looks at first
        self.round_robin, self.first = config.round_robin, -1
        self.waiting = 0
        self.grants = self.grant_cycles = config.grant_cycles  # turns move on when one is left

    def may_push(self, source: int) -> bool:
        return len(self.inputs[source]) < self.input_limit

    def push(self, source: int, target: int, request: Request) -> None:
        self.inputs[source].append((target, request))
        self.waiting += 1

    def pop(self, target: int) -> Request | None:
        return self.outputs[target].popleft() if self.outputs[target] else None

    def advance(self) -> None:
        """Outputs in order; each takes the packet of the first input from its turn on that has one for it in front.

        An input may serve several outputs in a cycle: what stands behind a packet that left is in front for the next.
        """
        self.first = (self.first + 1) % self.nodes
        if not self.waiting:
            return
        if self.round_robin:
            self._serve_inputs()
            return
        for target, queue in enumerate(self.outputs):
            if len(queue) < self.output_limit:
                self._grant(target)
        self.grants = self.grants - 1 or self.grant_cycles

    def _serve_inputs(self) -> None:
        """Inputs in turn, from a node that moves on every cycle; each sends one packet, and an output takes one."""
        taken = set()
        for step in range(self.nodes):
            source = (self.first + step) % self.nodes - self.first_input
            if not 0 <= source < len(self.inputs) or not self.inputs[source]:
                continue
            target, request = self.inputs[source][0]
            if target not in taken and len(self.outputs[target]) < self.output_limit:
                self.outputs[target].append(request)
                self.inputs[source].popleft()
                self.waiting -= 1
                taken.add(target)

    def _grant(self, target: int) -> None:
        for step in range(self.nodes):
            node = (self.turn[target] + step) % self.nodes
            source = node - self.first_input
            if not 0 <= source < len(self.inputs):
                continue
            queue = self.inputs[source]
            if queue and queue[0][0] == target:
                self.outputs[target].append(queue.popleft()[1])
                if self.grants == 1:
                    self.turn[target] = (node + 1) % self.nodes
                self.waiting -= 1
                return
