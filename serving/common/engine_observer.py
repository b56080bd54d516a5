"""The hooks of those that watch the networks of a process."""

from __future__ import annotations


class EngineObserver:
    """Every hook does nothing: override those you want. A hook must not block, and must not raise."""

    def model_loaded(self, network: str, took_s: float, memory_bytes: int) -> None:
        """A network is on the device from now on. Called on the event loop.

        ``network``: its name; networks that are run as one are named together, as in ``a + b``.
        """

    def model_unloaded(self, network: str) -> None:
        """A network that was on the device is no longer: others need its room, it joined another, or it did not return.

        Called on the event loop.
        """

    def network_ran(self, network: str, items: int, took_s: float) -> None:
        """A batch of so many items went through a network. Called by the device's thread: the next batch waits for it.

        Batches that failed are not counted.
        """


UNOBSERVED = EngineObserver()
"""Nobody watches."""
