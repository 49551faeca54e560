"""Launches of several classes of work at once: each class launches as ``Streams`` has it, beside the others.

A class whose launches have all ended begins again while another has not ended once, unless each is to run once.
Repeats of launch k of n have the numbers k + n, k + 2n and so on. Where launches of one stream belong to several
classes they keep their order, until they are repeated. Source: ``docs/sources/crisp.md#streams``.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rayplay.replay.launch.launches import Launch
from rayplay.replay.launch.streams import Streams


class Together:
    """The launches of all classes that are not over yet.

    launches  of each class, none without any.
    window    kernels of a class that are looked at together.
    repeats   whether classes begin again.
    kernels   of the joined trace: what the numbers of a repeat are ahead by.
    """

    def __init__(self, launches: Sequence[Sequence[Launch]], window: int, repeats: bool, kernels: int) -> None:
        self.launches, self.kernels = launches, kernels
        self.queues = [Streams(own, window) for own in launches]
        self.repeats = [repeats and sum(launch.instructions for launch in own) > 0 for own in launches]
        self.passes = [0] * len(launches)
        classes_of = Counter(stream for own in launches for stream in {launch.stream for launch in own})
        self.mixed_streams = {stream for stream, classes in classes_of.items() if classes > 1}
        self.most_at_once = sum(queue.most_at_once for queue in self.queues)
        self.places = sum(queue.places for queue in self.queues)
        self.first_place = [sum(queue.places for queue in self.queues[:number]) for number in range(len(launches))]

    def class_of_place(self, place: int) -> int:
        """Class that a place of the streams told apart belongs to."""
        return max(number for number, first in enumerate(self.first_place) if first <= place)

    def launch(self) -> list[Launch]:
        """Take the kernels that may be launched now."""
        begun: list[Launch] = []
        if self.is_over:
            return begun
        for number, queue in enumerate(self.queues):
            if queue.is_over and self.repeats[number]:
                ahead = self.passes[number] * self.kernels
                again = [replace(launch, kernel_id=launch.kernel_id + ahead) for launch in self.launches[number]]
                queue.unfinished = list(reversed(again))
            begun += queue.launch(self.waits)
        return begun

    def waits(self, launch: Launch) -> bool:
        """Whether an earlier launch of its stream, of another class, has not ended yet."""
        if launch.stream not in self.mixed_streams or launch.kernel_id >= self.kernels:
            return False
        others = [queue for number, queue in enumerate(self.queues) if number != launch.work_class]
        unfinished = (one for queue in others for one in (*queue.looked_at, *queue.unfinished))
        return any(one.stream == launch.stream and one.kernel_id < launch.kernel_id for one in unfinished)

    def take_place(self, launch: Launch) -> int:
        """Place of a launched kernel's stream among the streams told apart."""
        return self.first_place[launch.work_class] + self.queues[launch.work_class].take_place(launch)

    @property
    def running(self) -> dict[int, Launch]:
        """Kernels that run, by number."""
        return {kernel_id: launch for queue in self.queues for kernel_id, launch in queue.running.items()}

    @property
    def is_over(self) -> bool:
        """Whether every class has ended once."""
        return all(self.passes)

    def finish(self, kernel_id: int) -> None:
        """A kernel has ended."""
        for number, queue in enumerate(self.queues):
            if kernel_id in queue.running:
                queue.finish(kernel_id)
                self.passes[number] += queue.is_over
                return

    def waiting(self) -> list[Launch]:
        """Kernels that are still to be launched, maybe again."""
        found: list[Launch] = []
        for number, queue in enumerate(self.queues):
            others = [passes for other, passes in enumerate(self.passes) if other != number]
            may_repeat = self.repeats[number] and not all(others)
            found += self.launches[number] if may_repeat else queue.waiting()
        return found
