"""A fleet as the autoscaler sees it: machines, the variants that they may run, what runs, and what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from serving.errors import BadInput
from serving.scheduling.health import State

Key = tuple[str, str, str]
"""An application, a variant, and the kind of machine that it runs on."""


@dataclass(frozen=True, slots=True)
class MachineKind:
    """A kind of machine that can be had."""

    name: str
    price_per_s: float
    """In any unit, the same for all kinds."""
    resources: Mapping[str, float]
    """Amounts that one machine has, such as ``cores`` and ``memory_gib``."""
    at_most: int = 16
    """No more of them are wanted."""


@dataclass(frozen=True, slots=True)
class RunningMachine:
    """One backend on one device."""

    id: str
    kind: str
    busy: float = 0.0
    """Share in use of the resource that is used most, 0 to 1."""


@dataclass(frozen=True, slots=True)
class ScalableVariant:
    """A variant that an application may use, on one kind of machine."""

    id: str
    application: str
    kind: str
    items_per_s: float
    """The most that one instance serves."""
    latency_s: float
    load_s: float
    accuracy: float
    needs: Mapping[str, float]
    """Amounts that an instance takes of the machine's resources."""
    cost_per_s: float | None = None
    """The price of an instance; None: the machine's price times the largest share of a resource that is taken."""

    @property
    def key(self) -> Key:
        return self.application, self.id, self.kind

    def cost(self, kind: MachineKind) -> float:
        """The price of a second of an instance."""
        if self.cost_per_s is not None:
            return self.cost_per_s
        return kind.price_per_s * max((self.needs[each] / kind.resources[each] for each in self.needs), default=1.0)

    def fits(self, kind: MachineKind) -> bool:
        """Whether an empty machine has room for an instance."""
        return all(need <= kind.resources.get(each, 0.0) for each, need in self.needs.items())


@dataclass(frozen=True, slots=True)
class Instance:
    """A variant that is loaded for an application on a machine."""

    application: str
    variant: str
    machine: str
    state: State = "active"
    items_per_s: float = 0.0
    """Served at present."""


@dataclass(frozen=True, slots=True)
class Application:
    """Load and requirements on one model, or on any that meets the requirements."""

    name: str
    items_per_s: float
    slo_s: float = inf
    accuracy: float = 0.0
    """At least, 0 to 1."""
    priority: int = 0
    """Where resources are short, those with a higher one are served more of what they ask."""


@dataclass(frozen=True)
class ServingState:
    """All of it. What names a kind, a machine, a variant or an application that is not here is left out.

    Raises BadInput for numbers that cannot be.
    """

    kinds: Sequence[MachineKind]
    machines: Sequence[RunningMachine] = field(default=())
    variants: Sequence[ScalableVariant] = field(default=())
    instances: Sequence[Instance] = field(default=())
    applications: Sequence[Application] = field(default=())

    def __post_init__(self) -> None:
        for application in self.applications:
            if not (0 <= application.items_per_s < inf and application.slo_s > 0 and 0 <= application.accuracy <= 1):
                raise BadInput(f"an application asks what cannot be: {application}")
        for variant in self.variants:
            numbers = [variant.latency_s, variant.load_s, variant.cost_per_s or 0.0, *variant.needs.values()]
            if not (0 < variant.items_per_s < inf and all(0 <= each < inf for each in numbers)):
                raise BadInput(f"a variant has figures that cannot be: {variant}")

    @cached_property
    def kind(self) -> Mapping[str, MachineKind]:
        return {each.name: each for each in self.kinds}

    @cached_property
    def known(self) -> Sequence[RunningMachine]:
        """The machines of a known kind."""
        return [each for each in self.machines if each.kind in self.kind]

    @cached_property
    def usable(self) -> Mapping[Key, ScalableVariant]:
        """The variants of known applications that fit on a known kind of machine."""
        names = {each.name for each in self.applications}
        found = [each for each in self.variants if each.application in names and each.kind in self.kind]
        return {each.key: each for each in found if each.fits(self.kind[each.kind])}

    @cached_property
    def running(self) -> Sequence[tuple[Instance, ScalableVariant]]:
        """The instances of usable variants."""
        kinds = {each.id: each.kind for each in self.known}
        keys = [(each, (each.application, each.variant, kinds.get(each.machine, ""))) for each in self.instances]
        return [(each, self.usable[key]) for each, key in keys if key in self.usable]

    @cached_property
    def count(self) -> Counter[Key]:
        """Instances by variant."""
        return Counter(variant.key for _, variant in self.running)

    def serves(self, application: Application, variant: ScalableVariant) -> bool:
        """Whether a variant meets an application's requirements."""
        return variant.latency_s <= application.slo_s and variant.accuracy >= application.accuracy

    def rate(self, application: Application, variant: ScalableVariant) -> float:
        """Items per second that an instance serves; 0 where it misses the requirements."""
        return variant.items_per_s if self.serves(application, variant) else 0.0
