"""Which waiting requests run next, together: the decision alone, without clock, threads or networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar


class Waiting(Protocol):
    """A request in a model's queue."""

    @property
    def deadline(self) -> float:
        """When its answer should be there, on any one clock."""
        ...

    @property
    def items(self) -> int:
        """How many places it takes in a batch."""
        ...


R = TypeVar("R", bound=Waiting)


def next_batch(queues: Mapping[str, Sequence[R]], limits: Mapping[str, int]) -> tuple[str, list[R]] | None:
    """The model whose most urgent request is due first, and that model's requests in order of deadline up to its limit.

    A request is never split here: one that alone exceeds the limit runs alone. None where nothing waits.
    """
    waiting = {model: queue for model, queue in queues.items() if queue}
    if not waiting:
        return None
    model = min(waiting, key=lambda name: min(request.deadline for request in waiting[name]))
    by_urgency = sorted(waiting[model], key=lambda request: request.deadline)
    chosen, items = by_urgency[:1], by_urgency[0].items
    for request in by_urgency[1:]:
        if items + request.items > limits[model]:
            break
        chosen.append(request)
        items += request.items
    return model, chosen
