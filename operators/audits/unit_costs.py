"""Processor seconds of one look by each network, as the engine has observed them."""

from __future__ import annotations

from operators.inference import Inference

HANDLING_S = 0.0005
"""Processor seconds around a network for one crop: to cut, scale and queue it, and to take the answer."""


class UnitCosts:
    """Remembers what the engine forgets when a network leaves memory."""

    def __init__(self, engine: Inference) -> None:
        self._engine = engine
        self._known: dict[str, float] = {}

    def network_s(self, model: str) -> float | None:
        """Processor seconds of one item; None as long as the network has not run."""
        newest = self._engine.processor_s(model)
        if newest is not None:
            self._known[model] = newest
        return self._known.get(model)

    def look_s(self, model: str) -> float | None:
        """The same with what is done around the network."""
        network_s = self.network_s(model)
        return None if network_s is None else network_s + HANDLING_S
