"""Sessions of Shen, 2019, §3.6: five scenarios of sixteen sessions on eight GPUs, twenty live games on sixteen.

A batch takes fixed + b × item. The paper gives the latency of one item for Inception, ResNet-50 and LeNet (Table 3.1),
and 1,300 items a second within 100 ms for Inception, which makes a batch of 64 some nine times as good as single items;
ResNet-50 gets the same gain, LeNet and VGG those of Figure 3.3 (24 and 2.5). Of the eight architectures the paper names
none, and of most it has no figures: those here are made, from small to large, all of them fast enough for 50 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

from serving.placement.demands import BatchProfile, Demand, Profiles
from serving.placement.prefixes import prefix_profile

KIND = "gpu"
MEMORY = 11_000_000_000
MODEL_MEMORY = 400_000_000
GAIN_AT = 64
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
ONE_MS = {
    "mobilenet": (1.2, 9.0),
    "squeezenet": (1.6, 9.0),
    "googlenet": (4.0, 9.0),
    "resnet-50": (6.2, 9.0),
    "inception": (7.0, 9.1),
    "vgg-7": (1.0, 2.5),
    "vgg-16": (7.5, 2.5),
    "resnet-101": (11.0, 6.0),
}
"""Milliseconds of one item, and how many times as many items a second batches of 64 serve."""
SLOS_S = (0.05, 0.1, 0.15, 0.2)
GAMES = 20
LENET_MS = (0.1, 24.0)
DIGITS = 6
"""LeNet is asked so often for a frame; here that is one item."""
GAME_SLO_S = 0.05
SUFFIX = 0.005
"""Share of ResNet-50's time that its last layer takes."""


@dataclass(frozen=True)
class Scenario:
    """Sessions at rates that are scaled together, for a number of backends."""

    name: str
    demands: list[Demand]
    profiles: Profiles
    backends: int


def profile(one_ms: float, gain: float, items: int = 1) -> BatchProfile:
    """ℓ(1) as given, and ℓ(64) = 64 ℓ(1) / gain; a batch of one is of so many items."""
    item = (GAIN_AT / gain - 1) / (GAIN_AT - 1)
    return BatchProfile({size: one_ms / 1000 * (1 - item + item * size * items) for size in SIZES}, MODEL_MEMORY)


def zipf(number: int, exponent: float = 0.9) -> list[float]:
    """Shares that add up to 1."""
    weights = [rank**-exponent for rank in range(1, number + 1)]
    return [weight / sum(weights) for weight in weights]


def scenarios() -> list[Scenario]:
    """The five of §3.6.3.2, at about one item a second altogether."""
    found: list[Scenario] = []
    for model in ("inception", "resnet-50"):
        names = [f"{model}-{number}" for number in range(16)]
        own = {name: {KIND: profile(*ONE_MS[model])} for name in names}
        mixed = [Demand(name, SLOS_S[number % 4], 1 / 16) for number, name in enumerate(names)]
        rates = [Demand(name, 0.1, share) for name, share in zip(names, zipf(16), strict=True)]
        found.append(Scenario(f"{model}, mixed SLOs", mixed, own, 8))
        found.append(Scenario(f"{model}, mixed rates", rates, own, 8))
    models = {name: {KIND: profile(*ONE_MS[name])} for name in ONE_MS}
    both = [Demand(name, slo_s, 1 / 16) for name in ONE_MS for slo_s in (0.05, 0.1)]
    return [*found, Scenario("8 architectures", equal_work(both, models), models, 8)]


def equal_work(demands: list[Demand], profiles: Profiles) -> list[Demand]:
    """The same with rates at which each takes as much of a backend: at equal ones the light ones would not be felt."""
    best = [
        max(b / s for b, s in profiles[each.model][KIND].latency_s.items() if s <= each.slo_s / 2) for each in demands
    ]
    scale = 1 / sum(best)
    return [Demand(each.model, each.slo_s, most * scale) for each, most in zip(demands, best, strict=True)]


def games(prefix: bool) -> Scenario:
    """One frame a second of twenty games altogether: LeNet six times, ResNet-50 of the game once (§3.6.2.1)."""
    resnet = profile(*ONE_MS["resnet-50"])
    names = [f"game-{number}" for number in range(GAMES)]
    profiles = {name: {KIND: resnet} for name in names} | {"lenet": {KIND: profile(*LENET_MS, DIGITS)}}
    if prefix:
        profiles["games"] = {KIND: prefix_profile([resnet] * GAMES, SUFFIX)}
    asked = [Demand(name, GAME_SLO_S, share, prefix="games") for name, share in zip(names, zipf(GAMES), strict=True)]
    return Scenario("games", [Demand("lenet", GAME_SLO_S, 1.0), *asked], profiles, 16)
