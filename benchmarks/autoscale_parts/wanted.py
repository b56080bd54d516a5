"""How many machines of each kind are wanted (Romero et al., 2021, §4.2.3). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.autoscale_parts.actions import machines_of
from benchmarks.autoscale_parts.decision import WantedMachines
from benchmarks.autoscale_parts.state import MachineKind, RunningMachine, ServingState
from benchmarks.autoscale_parts.terms import WholeTerms


def wanted_machines(
    seen: ServingState, more: Mapping[str, int], released: Mapping[str, int], terms: WholeTerms
) -> tuple[WantedMachines, ...]:
    """For every kind; ``more``: for instances without room, ``released``: those that have long been empty."""
    there = machines_of(seen)
    overloaded = _most_overloaded(seen, terms)
    found = []
    for kind in seen.kinds:
        machines, extra = there[kind.name], more.get(kind.name, 0)
        if extra > 0:
            wanted, why = len(machines) + extra, "there is no room for all instances that are needed"
        elif (cause := _crowded(seen, machines, terms)) or kind.name == overloaded:
            wanted, why = len(machines) + 1, cause or f"{terms.overloaded:.0%} of all machines have overloaded variants"
        elif gone := released.get(kind.name, 0):
            wanted, why = len(machines) - gone, f"{gone} have been empty for {terms.release_s:g} s"
        else:
            wanted, why = len(machines), "as there are"
        found.append(_bounded(kind, wanted, why))
    return tuple(found)


def _crowded(seen: ServingState, machines: Sequence[RunningMachine], terms: WholeTerms) -> str:
    """Why one more machine of a kind is wanted; empty where none is."""
    if machines and all(each.busy > terms.busy for each in machines):
        return f"all are busy beyond {terms.busy:.0%}"
    interfered = {instance.machine for instance, _ in seen.running if instance.state == "interfered"}
    if machines and interfered.issuperset(each.id for each in machines):
        return "variants take longer than their profiles say on all of them"
    return ""


def _most_overloaded(seen: ServingState, terms: WholeTerms) -> str | None:
    """Where most of all machines have overloaded variants: the kind that has them on the most machines."""
    overloaded = {instance.machine for instance, _ in seen.running if instance.state == "overloaded"}
    if len(overloaded) <= terms.overloaded * len(seen.known):
        return None
    there = machines_of(seen)
    return max(there, key=lambda kind: sum(each.id in overloaded for each in there[kind]))


def _bounded(kind: MachineKind, wanted: int, why: str) -> WantedMachines:
    if wanted > kind.at_most:
        return WantedMachines(kind.name, kind.at_most, f"{why}, but no more than {kind.at_most} are allowed")
    return WantedMachines(kind.name, wanted, why)
