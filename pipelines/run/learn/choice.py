"""The exits of one node: trained on the first part of its looks, chosen and certified on the others. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from cache_adapt.exits.certify import upper_bound
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import fit
from cache_adapt.learned.heard import Heard
from cache_adapt.learned.learned_exit import LearnedExit
from cache_adapt.learned.pooled import PoolRule
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import MOST_CUTS, ExitCut, ExitsSpec
from cache_adapt.learned.tune import BUDGET, TunedExits, tuned
from cache_adapt.learned.vocabulary import Vocabulary
from pipelines.run.learn.costs import NetworkCosts
from serving.errors import SluiceError

LEAST_LOOKS = 150
TAUGHT = 0.6
"""Share of the looks that exits are trained on."""
PAIRED = 4
"""So many cuts, those that are best alone, are tried in pairs."""
WORTH = 1.03
"""Exits that make looks less than so many times as fast are not worth proving."""


@dataclass(frozen=True)
class LearningNetwork:
    """The network that exits are learnt for."""

    model: str
    identity: str
    """Digest of its weights and of what it is fed."""
    cuts: Sequence[ExitCut]
    """Where exits are tried."""
    vocabulary: Vocabulary
    costs: NetworkCosts
    rule: PoolRule | None = None
    """How the looks at one object are pooled; None: each is answered by itself."""

    def spec(self, places: Sequence[int], agreement: float) -> ExitsSpec:
        return ExitsSpec(tuple(self.cuts[place] for place in places), self.vocabulary, agreement)


@dataclass(frozen=True)
class Promise:
    """A share that was found on some looks, and its upper bound."""

    found: float
    most: float


@dataclass(frozen=True)
class LearntExits:
    """Exits that are worth their cuts."""

    artefact: ExitArtefact
    """Trained on all looks; its thresholds are those of the exits that were trained on the first part."""
    tuned: TunedExits
    wrong: Promise
    """Share of the answers that are not the end's."""
    lost: Promise
    """Share of what the end named that gets another answer."""
    judged: int
    """Looks on which this was found."""


class NothingLearnt(SluiceError):
    """There are no exits, for the reason that it says."""


def learnt(
    network: LearningNetwork, rows: ExitRows, agreement: float, lookup_s: Callable[[LearnedExit], float]
) -> LearntExits:
    """Choose the exits, at one or two cuts, that make looks cheapest and keep the agreement.

    ``lookup_s``: processor seconds of asking an exit. Raises NothingLearnt.
    """
    taught, judged = parted(rows, TAUGHT)
    if len(rows) < LEAST_LOOKS or not len(judged):
        raise NothingLearnt(f"{len(rows)} looks are too few: {LEAST_LOOKS} are the least, and some thousand do better")
    try:
        exits = [_fitted(network, (place,), taught, agreement).exits[0] for place in range(len(network.cuts))]
    except SluiceError as error:
        raise NothingLearnt(str(error)) from None
    tried = _Judged(network, exits, judged, agreement, [lookup_s(each) for each in exits])
    best, found = tried.best()
    if found.speedup < WORTH:
        raise NothingLearnt(f"at an agreement of {agreement:g}, judged on {len(judged)} looks, {tried.why_not}")
    artefact = _fitted(network, best, rows, agreement).tuned(found.thresholds, found.hit_rates, agreement)
    return LearntExits(artefact, found, *tried.promises(best, found), len(judged))


@dataclass(frozen=True)
class _Judged:
    """Exits at all cuts, and looks that they were not trained on."""

    network: LearningNetwork
    exits: Sequence[LearnedExit]
    rows: ExitRows
    agreement: float
    lookups_s: Sequence[float]

    def best(self) -> tuple[Sequence[int], TunedExits]:
        """The places whose exits make looks cheapest, all of which answer: one, or two of those that are best alone."""
        found: dict[tuple[int, ...], TunedExits] = {(place,): self.tuned((place,)) for place in range(len(self.exits))}
        alone = sorted(found, key=lambda some: found[some].speedup, reverse=True)[:PAIRED]
        for some in combinations(sorted(place for (place,) in alone), MOST_CUTS):
            if all((both := self.tuned(some)).thresholds):
                found[some] = both
        best = max(found, key=lambda some: found[some].speedup)
        return best, found[best]

    @property
    def why_not(self) -> str:
        """Why none are worth it, where that is so."""
        least = min(self.lookups_s) / self.network.costs.whole_s
        if least > BUDGET:
            return f"exits do not pay: asking one takes {least:.1%} of a look, and {BUDGET:.0%} is the most"
        return "no exit answers enough to be worth its cut"

    def heard(self, places: Sequence[int]) -> Heard:
        return Heard.of([self.exits[place] for place in places], self.rows.at(places), self.network.rule)

    def tuned(self, places: Sequence[int]) -> TunedExits:
        costs = self.network.costs.of(places, [self.lookups_s[place] for place in places])
        return tuned(self.heard(places), costs, self.agreement)

    def promises(self, places: Sequence[int], found: TunedExits) -> tuple[Promise, Promise]:
        """Wrong answers, and names lost."""
        heard = self.heard(places)
        judged = heard.judged(heard.chain(np.array(found.thresholds)))
        wrong, lost = (upper_bound(*judged.evidence(among)) for among in (judged.answered, judged.named))
        return Promise(1 - found.agreement, wrong), Promise(found.lost, lost)


def _fitted(network: LearningNetwork, places: Sequence[int], rows: ExitRows, agreement: float) -> ExitArtefact:
    return fit(network.model, network.identity, network.spec(places, agreement), rows.at(places))


def parted(rows: ExitRows, share: float) -> tuple[ExitRows, ExitRows]:
    """The first share of them, and the later ones at objects that are not among the first."""
    assert rows.shown is not None
    first, objects = int(len(rows) * share), rows.shown.objects
    known = set(objects[:first])
    later = [row for row in range(first, len(rows)) if objects[row] not in known]
    return rows.of(slice(first)), rows.of(np.array(later, np.intp))
