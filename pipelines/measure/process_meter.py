"""The work of a process's networks, counted by an observer, and whether their models are overloaded or interfered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from operators.observer import Observer
from operators.wire.schema import Result
from pipelines.planning.within import ModelStanding
from serving.scheduling.estimates import LatencyTable
from serving.scheduling.health import TROUBLED, Observed, State, next_state, share_of_peak

MOST_NETWORKS = 256
"""Networks that are counted; of further ones nothing is known."""
MOST_SIZES = 32
"""Sizes of batches that are told apart, of a network."""
NEWEST = 0.2
"""Share of the newest batch in the time of its size."""


@dataclass(slots=True)
class NetworkUse:
    """Counts of one network since the process was started."""

    batches: int = 0
    items: int = 0
    took_s: float = 0.0
    sizes: dict[int, tuple[int, float]] = field(default_factory=dict)
    """By the size of a batch: how many there were, and the time of one of late."""
    loaded: bool = False
    load_s: float = 0.0
    memory_bytes: int = 0


class ProcessMeter(Observer):
    """Told by the device's thread and by the event loop, read by the event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._networks: dict[str, NetworkUse] = {}
        self._loaded: dict[str, int] = {}
        """Memory of what is loaded, in bytes: of models that are run as one it is one."""
        self.lag = 0
        """Messages that wait for a worker."""
        self.late = 0
        """Frames whose results were late, or which were given up."""

    def frame_analysed(self, result: Result) -> None:
        self.late += not result.plan.deadline_met

    def frame_dropped(self, result: Result) -> None:
        self.late += 1

    def network_ran(self, network: str, items: int, took_s: float) -> None:
        with self._lock:
            for use in self._uses(network):
                use.batches, use.items, use.took_s = use.batches + 1, use.items + items, use.took_s + took_s
                count, of_late_s = use.sizes.get(items, (0, took_s))
                if count or len(use.sizes) < MOST_SIZES:
                    use.sizes[items] = count + 1, of_late_s + NEWEST * (took_s - of_late_s)

    def model_loaded(self, network: str, took_s: float, memory_bytes: int) -> None:
        with self._lock:
            if len(self._loaded) < MOST_NETWORKS:
                self._loaded[network] = memory_bytes
            for use in self._uses(network):
                use.loaded, use.load_s, use.memory_bytes = True, took_s, max(memory_bytes, use.memory_bytes)

    def model_unloaded(self, network: str) -> None:
        with self._lock:
            self._loaded.pop(network, None)
            for name in models_of(network):  # its other shapes, or those with cuts, may be there still
                if name in self._networks:
                    self._networks[name].loaded = any(name in models_of(other) for other in self._loaded)

    def worker_checked(self, waiting: Mapping[int, int], oldest_s: float, problem: str | None) -> None:
        self.lag = sum(waiting.values())

    @property
    def loaded_bytes(self) -> int:
        with self._lock:
            return sum(self._loaded.values())

    def networks(self) -> dict[str, NetworkUse]:
        """The counts as they are now, by model."""
        with self._lock:
            return {name: replace(use, sizes=dict(use.sizes)) for name, use in self._networks.items()}

    def _uses(self, network: str) -> Iterator[NetworkUse]:
        for name in models_of(network):
            if name in self._networks or len(self._networks) < MOST_NETWORKS:
                yield self._networks.setdefault(name, NetworkUse())


def models_of(network: str) -> list[str]:
    """The models that are run under a name: networks that are run as one, cut, or on pictures of another shape.

    >>> models_of("cars + colours"), models_of("people+416x256"), models_of("kind@openvino-bf16+cuts1")
    (['cars', 'colours'], ['people'], ['kind@openvino-bf16'])
    """
    return [each.partition("+")[0] for each in network.split(" + ")]


def recent(now: NetworkUse | None, then: NetworkUse | None) -> NetworkUse:
    """The work of a network between two moments."""
    now, then = now or NetworkUse(), then or NetworkUse()
    before = {size: count for size, (count, _) in then.sizes.items()}
    sizes = {size: (count - before.get(size, 0), of_late_s) for size, (count, of_late_s) in now.sizes.items()}
    return NetworkUse(now.batches - then.batches, now.items - then.items, now.took_s - then.took_s, sizes, now.loaded)


def latency_ratio(use: NetworkUse, seconds: Mapping[int, float]) -> float | None:
    """Time of its batches over what was measured of them by size; None where none ran, or nothing is known."""
    if not seconds or not use.batches:
        return None
    table = LatencyTable(seconds)
    expected_s = sum(count * table(size) for size, (count, _) in use.sizes.items() if count > 0)
    return min(max(use.took_s / expected_s, 1e-3), 1e6) if expected_s > 0 else None


LOOK_S = 2.0
"""Seconds from one look to the next (Romero et al., 2021, §5)."""
HELD_S = 10.0
"""A model that is overloaded or interfered is seldom asked then, and so soon looks well: it stays so for as long."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A model at the last look."""

    at_s: float
    use: NetworkUse
    state: State = "inactive"
    since_s: float = -inf
    load: float = 0.0


class ModelStates:
    """Used from the event loop; ``now_s`` is that of a steady clock."""

    def __init__(self, meter: ProcessMeter, is_placed: Callable[[str], bool | None] = lambda model: None) -> None:
        """``is_placed``: whether a model is ready where a placement has it; None where there is none."""
        self._meter, self._is_placed = meter, is_placed
        self._known: dict[str, _Known] = {}

    def at(self, now_s: float, seconds: Mapping[str, Mapping[int, float]]) -> Mapping[str, ModelStanding]:
        """The states of models; ``seconds``: what was measured of their batches, by size."""
        uses = self._meter.networks()
        for model, curve in seconds.items():
            use = uses.get(model, NetworkUse())
            known = self._known.setdefault(model, _Known(now_s, use, "active" if use.loaded else "inactive"))
            if now_s - known.at_s >= LOOK_S:
                self._known[model] = _looked(known, use, curve, now_s)
        found = {model: (self._known[model].state, self._known[model].load) for model in seconds}
        return {model: ModelStanding(*each, self._is_placed(model) is not False) for model, each in found.items()}


def _looked(known: _Known, use: NetworkUse, curve: Mapping[int, float], now_s: float) -> _Known:
    of_late, most = recent(use, known.use), max(batch / took_s for batch, took_s in curve.items())
    rate = of_late.items / (now_s - known.at_s)
    loaded = use.loaded or use.batches > 0  # a backend answers, and nothing more is known of it
    state = next_state(known.state, Observed(loaded, rate, latency_ratio(of_late, curve) or 1.0), most)
    if state == "active" and known.state in TROUBLED and now_s - known.since_s < HELD_S:
        state = known.state
    since_s = known.since_s if state == known.state else now_s
    return _Known(now_s, use, state, since_s, share_of_peak(rate, most))
