"""The ways to scale that are compared.

*Static* (the paper's Clipper+) has what was loaded for it at first. *Threshold* (SM+) adds and takes away instances of
one variant that was chosen beforehand, at the same headroom and with the same delays. *Autoscale* chooses among all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.autoscale_parts.fleet import Box, Copy, SimulatedFleet, Way
from benchmarks.autoscale_parts.profiles import ARCHITECTURES, RESNET50, SLO_S, slo_s, variants_of
from benchmarks.autoscale_parts.terms import WholeTerms

SLOS = {each.name: slo_s(each) for each in ARCHITECTURES}


def boxes(cpu: int, inferentia: int, gpu: int) -> dict[str, Box]:
    """Machines that are there from the start."""
    counts = (("cpu", cpu), ("inferentia", inferentia), ("gpu", gpu))
    return {f"{kind}-{number}": Box(kind, 0.0, 0.0) for kind, count in counts for number in range(count)}


USUAL = WholeTerms()


def one_model(names: Sequence[str], first: Mapping[str, int], terms: WholeTerms = USUAL) -> SimulatedFleet:
    """ResNet50 on one machine of each kind; ``names``: the variants that may be scaled to."""
    mine = [RESNET50[name] for name, count in first.items() for _ in range(count)]
    copies = [Copy(each, f"{each.kind}-0", 0.0) for each in mine]
    return SimulatedFleet({"resnet50": SLO_S}, [RESNET50[name] for name in names], copies, boxes(1, 1, 1), False, terms)


ONE_MODEL: Mapping[str, Way] = {
    "autoscale": lambda: one_model(list(RESNET50), {"cpu": 1}),
    "autoscale, throughput alone": lambda: one_model(list(RESNET50), {"cpu": 1}, WholeTerms(late=1.0)),
    "autoscale, no Inferentia": lambda: one_model(["cpu", "gpu-1", "gpu-8"], {"cpu": 1}),
    "static CPU": lambda: one_model([], {"cpu": 2}),
    "static GPU": lambda: one_model([], {"gpu-8": 1}),
    "threshold CPU": lambda: one_model(["cpu"], {"cpu": 1}),
    "threshold GPU": lambda: one_model(["gpu-1"], {"gpu-1": 1}),
    "threshold Inferentia": lambda: one_model(["inferentia"], {"inferentia": 1}),
}
"""The ways of §6.2."""
CHOSEN = {each.name: "gpu" if each.popular else "cpu" for each in ARCHITECTURES}
"""What a developer would choose: kinds of machines by model."""
CAREFUL = WholeTerms(slack=1.2, late=0.02)


def autoscaled(terms: WholeTerms) -> SimulatedFleet:
    """The 22 architectures of §6.1 on, to begin with, 5 CPU, 5 GPU and 2 Inferentia machines."""
    mine = {each.name: variants_of(each) for each in ARCHITECTURES}
    variants = [each for of in mine.values() for each in of.values()]
    return SimulatedFleet(SLOS, variants, _first(5, 5, 1), boxes(5, 2, 5), scales_machines=True, terms=terms)


def fixed(each_popular: int, scales: bool) -> SimulatedFleet:
    """The same on 5 CPU and 7 GPU machines, with one variant for each."""
    chosen = [variants_of(each)[CHOSEN[each.name]] for each in ARCHITECTURES]
    return SimulatedFleet(SLOS, chosen if scales else [], _first(5, 7, each_popular), boxes(5, 0, 7), False)


MANY_MODELS: Mapping[str, Way] = {
    "autoscale": lambda: autoscaled(WholeTerms()),
    "autoscale, slack 1.2": lambda: autoscaled(CAREFUL),
    "static": lambda: fixed(7, scales=False),
    "threshold": lambda: fixed(1, scales=True),
}
"""The ways of §6.1."""


def _first(cpu: int, gpu: int, each_popular: int) -> list[Copy]:
    """One instance of each rare model, and so many of each popular one, one machine after the other."""
    there, counts, copies = {"cpu": cpu, "gpu": gpu}, {"cpu": 0, "gpu": 0}, []
    for each in ARCHITECTURES:
        kind = CHOSEN[each.name]
        for _ in range(each_popular if each.popular else 1):
            copies.append(Copy(variants_of(each)[kind], f"{kind}-{counts[kind] % there[kind]}", 0.0))
            counts[kind] += 1
    return copies
