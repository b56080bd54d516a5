"""Thresholds of exits by what was heard of them, for the words that they may say, and what comes of that. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.heard import Heard
from cache_adapt.learned.learned_exit import LearnedExit
from cache_adapt.learned.pooled import PoolRule
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitsSpec
from cache_adapt.learned.tune import ExitCosts, tuned
from operators.recognise.exits import expected
from operators.recognise.exits.cut_oracle import LookSeconds
from specialization.rates import Rates, rates_of

WORTH = 0.02
"""Share of the network's work that exits must spare to be used."""
HEDGE = 50
"""Looks at other words that the expected rate counts as."""
CUT_S, LOOKUP_S = 0.00003, 0.00005
"""Processor seconds of a cut with its tap, and of asking an exit, for one look."""


@dataclass(frozen=True)
class ExitChoice:
    """Exits as they were tuned."""

    thresholds: tuple[float, ...]
    """One for each exit of the artefact; 0: it is not asked."""
    words: tuple[int, ...] | None
    """Those that they may say; None: all."""
    spared: float
    """Share of the network's work that they are expected to spare, 0…1."""
    rates: Rates | None = None
    """Their rates for these words, for WEG; None: they were not measured."""

    def asked(self, artefact: ExitArtefact) -> list[LearnedExit]:
        """The exits that are asked, with their thresholds."""
        may_say = answers_of(self.words, artefact.card.vocabulary.unknown)
        pairs = zip(artefact.exits, self.thresholds, strict=True)
        return [each.at(threshold, may_say) for each, threshold in pairs if threshold]


def answers_of(words: Collection[int] | None, unknown: int) -> NDArray[np.bool_] | None:
    """L + 1: the words that exits may say; None: all."""
    if words is None:
        return None
    found = np.zeros(unknown + 1, np.bool_)
    found[[each for each in words if each <= unknown]] = True
    return found


def chosen(
    artefact: ExitArtefact, heard: Heard, spec: ExitsSpec, words: Collection[int] | None, seconds: LookSeconds
) -> ExitChoice | None:
    """The best exits of an artefact by what was heard of them; None where none pay."""
    heard = heard.only(answers_of(words, artefact.card.vocabulary.unknown))
    shares = {cut.tensor: cut.share for cut in spec.cuts}
    costs = ExitCosts.of([shares[each.tensor] for each in artefact.exits], seconds.through, CUT_S, LOOKUP_S)
    if seconds.beyond:
        costs = replace(costs, through=costs.until[-1] + seconds.beyond, whole=seconds.beyond)
    found = tuned(heard, costs, spec.agreement)
    spared = 1 - 1 / found.speedup
    if spared < WORTH:
        return None
    leaves = heard.chain(np.array(found.thresholds))
    count = len(heard.words)
    dominant = np.ones(count, np.bool_) if words is None else np.isin(heard.words, list(words))
    rates = rates_of(leaves.place < len(found.thresholds), leaves.right, dominant, np.ones(count))
    answers = None if words is None else tuple(words)
    return ExitChoice(found.thresholds, answers, spared, _hedged(rates, ~dominant))


def as_learnt(artefact: ExitArtefact, spec: ExitsSpec) -> ExitChoice | None:
    """Exits with the thresholds that they have brought; None where these answer nothing."""
    shares = {cut.tensor: cut.share for cut in spec.cuts}
    spared = sum(each.hit_rate * (1 - shares[each.tensor]) for each in artefact.card.exits)
    thresholds = tuple(each.threshold for each in artefact.exits)
    return ExitChoice(thresholds, None, spared) if any(thresholds) else None


def chosen_on(
    held: ExitRows,
    artefact: ExitArtefact,
    spec: ExitsSpec,
    words: Collection[int] | None,
    seconds: LookSeconds,
    rule: PoolRule | None = None,
) -> ExitChoice | None:
    """The same by looks that are held, at the cuts of ``spec``: each by exits that have not seen its fold."""
    places = {cut.tensor: place for place, cut in enumerate(spec.cuts)}
    rows = held.at([places[each.tensor] for each in artefact.exits])
    return chosen(artefact, Heard.unseen(artefact, rows, rule), spec, words, seconds)


def _hedged(rates: Rates, others: NDArray[np.bool_]) -> Rates:
    """Few looks show other words: what is measured of these counts as far as it is known."""
    count = int(others.sum())
    a_out = (count * rates.a_out + HEDGE * expected.RATES.a_out) / (count + HEDGE)
    return msgspec.structs.replace(rates, a_out=a_out)
