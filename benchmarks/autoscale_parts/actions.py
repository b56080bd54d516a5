"""From numbers of instances to what is done on which machine, and where disturbed instances go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.autoscale_parts.decision import Migration, ScalingAction, What
from benchmarks.autoscale_parts.programme import ROUNDING
from benchmarks.autoscale_parts.state import Instance, Key, RunningMachine, ScalableVariant, ServingState
from serving.scheduling.health import TROUBLED


class Floor:
    """The machines with what is free on each, while instances are given places."""

    def __init__(self, seen: ServingState) -> None:
        self.seen = seen
        self.machine = {each.id: each for each in seen.known}
        self.there: list[tuple[Instance, ScalableVariant]] = list(seen.running)
        self.free = {each.id: dict(seen.kind[each.kind].resources) for each in seen.known}
        self._instances = Counter[str]()
        for instance, variant in seen.running:
            self._take(instance.machine, variant, 1)

    def used(self, machine: str) -> float:
        """The largest share of a resource that instances take."""
        all_of_it = self.seen.kind[self.machine[machine].kind].resources
        free = self.free[machine]
        return max((1 - free[name] / amount for name, amount in all_of_it.items() if amount), default=0.0)

    def place(self, variant: ScalableVariant, among: Sequence[str] | None = None) -> str | None:
        """Take room on the least loaded machine that has it; None where none has."""
        names = [each.id for each in self.machine.values() if each.kind == variant.kind] if among is None else among
        fits = [
            name for name in names if all(self.free[name][of] + ROUNDING >= need for of, need in variant.needs.items())
        ]
        if not fits:
            return None
        chosen = min(fits, key=lambda name: (self.machine[name].busy, self.used(name), name))
        self._take(chosen, variant, 1)
        return chosen

    def remove(self, key: Key) -> str:
        """Give up an instance: a troubled one rather than others, then one of the emptiest machine."""
        mine = [pair for pair in self.there if pair[1].key == key]
        gone = min(mine, key=lambda pair: (pair[0].state not in TROUBLED, self.used(pair[0].machine), pair[0].machine))
        self.there.remove(gone)
        self._take(gone[0].machine, gone[1], -1)
        return gone[0].machine

    def empty(self) -> list[str]:
        """The machines that have no instance and get none."""
        return [name for name in self.machine if not self._instances[name]]

    def _take(self, machine: str, variant: ScalableVariant, times: int) -> None:
        self._instances[machine] += times
        for name, need in variant.needs.items():
            self.free[machine][name] -= times * need


def changes(floor: Floor, counts: Mapping[Key, int], loads: Mapping[str, float]) -> tuple[ScalingAction, ...]:
    """An action for each instance; an application's loads before its unloads."""
    seen = floor.seen
    more = {key: count - seen.count[key] for key, count in counts.items()}
    gone = [
        ScalingAction("unload", *key, floor.remove(key), _why_less(seen, key, loads))
        for key in more
        for _ in range(-more[key])
    ]
    new = [
        ScalingAction(
            what,
            *key,
            floor.place(seen.usable[key]),
            _why_more(what, key[0], loads[key[0]], capacity(seen, key[0])),
        )
        for key in more
        if more[key] > 0
        for what in [_what(seen, key)]
        for _ in range(more[key])
    ]
    names = dict.fromkeys(each.application for each in (*new, *gone))
    return tuple(each for name in names for each in (*new, *gone) if each.application == name)


def mitigations(floor: Floor) -> Iterator[Migration]:
    """One interfered instance of each machine goes where nothing is troubled, the one that takes least.

    A machine is one device here, and the runtime shares its cores among networks: there is no other part of it to move
    to, which Romero et al., 2021, §4.1 try first.
    """
    troubled = {instance.machine for instance, _ in floor.there if instance.state in TROUBLED}
    calm = [each for each in floor.machine if each not in troubled]
    for machine in sorted(floor.machine):
        disturbed = [pair for pair in floor.there if pair[0].machine == machine and pair[0].state == "interfered"]
        beside = sum(instance.machine == machine for instance, _ in floor.there) - 1
        if not disturbed or not beside:  # alone, nothing of ours disturbs it
            continue
        _, variant = min(disturbed, key=lambda pair: (sum(pair[1].needs.values()), pair[1].key))
        kind = floor.machine[machine].kind
        target = floor.place(variant, [each for each in calm if floor.machine[each].kind == kind])
        if target is not None:
            why = f"{variant.id} takes longer than its profile says on {machine}, where others run"
            yield Migration(variant.application, variant.id, machine, target, why)


def _what(seen: ServingState, key: Key) -> What:
    """Whether a variant is replicated, or where others ran before it is dearer or cheaper than the dearest of them."""
    if seen.count[key]:
        return "replicate"
    running = [variant for _, variant in seen.running if variant.application == key[0]]
    if not running:
        return "load"
    before = max(_cost(seen, each) for each in running)
    return "upgrade" if _cost(seen, seen.usable[key]) > before else "downgrade"


def _cost(seen: ServingState, variant: ScalableVariant) -> float:
    return variant.cost(seen.kind[variant.kind])


def capacity(seen: ServingState, name: str) -> float:
    """Items per second that an application's instances serve, as its requirements are now."""
    (application,) = [each for each in seen.applications if each.name == name]
    mine = [variant for _, variant in seen.running if variant.application == name]
    return sum(seen.rate(application, each) for each in mine)


def _why_more(what: What, name: str, load: float, most: float) -> str:
    asked = f"{load:.4g} items/s are asked of {name}"
    if most < load:
        return f"{asked}, and what runs serves {most:.4g} in time"
    if what == "downgrade":
        return f"{asked}, which a cheaper variant serves"
    return f"{asked}, and of the {most:.4g} that what runs serves in time too little is spare"


def _why_less(seen: ServingState, key: Key, loads: Mapping[str, float]) -> str:
    (application,) = [each for each in seen.applications if each.name == key[0]]
    if not seen.serves(application, seen.usable[key]):
        return f"it does not meet the requirements of {key[0]}"
    return f"{loads[key[0]]:.4g} items/s are asked of {key[0]}, which is served for less without it"


def machines_of(seen: ServingState) -> dict[str, list[RunningMachine]]:
    """By kind."""
    return {kind.name: [each for each in seen.known if each.kind == kind.name] for kind in seen.kinds}
