"""Trains exits on samples: at every cut a softmax regression says the end's words, a ridge its probabilities.

Words are taught as probabilities (after Hinton et al., 2015): a look that was nearly named, or hardly, teaches less
than one that was clear.

One exit for each cut, of words of one stream, is enough: hidden layers answered no more, and pictures of other streams
brought nothing. A fit takes .02 s of processor time with 150 samples and .1 s with 2,400.

*Cross-fitting.* Where samples are in folds, each fold also has exits that were trained on the others. By these it can
be judged what exits do at objects that they have not seen, on all looks that there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.artefact import MOST_VALUES, ArtefactCard, ExitArtefact, ExitCard
from cache_adapt.learned.learned_exit import LearnedExit, SoftMap, Values
from cache_adapt.learned.rows import FOLDS, ExitRows
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from cache_adapt.learned.vocabulary import Shares
from learning import ridge, softmax_regression
from serving.errors import ModelError, SluiceError

MOST_ROWS = 2400
"""The newest samples are trained on; more take longer and answer hardly more."""
MOST_WORDS = 40
"""The commonest words are learnt, and the probabilities of so many labels: artefacts stay small enough to be sent."""


class TooEarly(SluiceError):
    """Nothing can be learnt from these samples, and soon something can."""


def fit(model: str, identity: str, spec: ExitsSpec, rows: ExitRows) -> ExitArtefact:
    """Exits at all cuts, with thresholds of 0: they answer nothing yet.

    ``model``, ``identity``: the network's name and the digest of what it runs. Raises SluiceError where all samples say
    the same word, TooEarly where all outside of a fold do. Equal samples give equal exits.
    """
    rows = rows.newest(MOST_ROWS)
    known = _Learnt(
        commonest(np.bincount(rows.words, rows.weights, spec.vocabulary.unknown + 1)),
        commonest(rows.weights @ rows.shares),
    )
    taught = rows.of(np.isin(rows.words, known.words))
    exits = _exits(spec, taught, known)
    others = [] if taught.folds is None else [taught.of(taught.folds != fold) for fold in range(FOLDS)]
    if any(len(np.unique(each.words)) < 2 for each in others):
        raise TooEarly(f"{len(rows)} samples show too few objects to be parted: more are waited for")
    folds = tuple(_exits(spec, each, known) for each in others)
    cards = tuple(ExitCard.of(each) for each in exits)
    card = ArtefactCard("sluice.exits/2", model, identity, spec.vocabulary, len(rows), cards, folds=len(folds))
    return ExitArtefact(card, exits, folds)


class _Learnt(NamedTuple):
    """Exits of a fold know the same words and labels as the others."""

    words: tuple[int, ...]
    labels: tuple[int, ...]


def _exits(spec: ExitsSpec, rows: ExitRows, known: _Learnt) -> tuple[LearnedExit, ...]:
    """Exits at all cuts, trained on these rows."""
    if len(np.unique(rows.words)) < 2:
        raise SluiceError(f"all {len(rows)} samples say the same word: there is nothing to tell apart")
    return tuple(_exit(spec, cut, tap, rows, known) for cut, tap in zip(spec.cuts, rows.taps, strict=True))


def _exit(spec: ExitsSpec, cut: ExitCut, tap: Values, rows: ExitRows, known: _Learnt) -> LearnedExit:
    if cut.values > MOST_VALUES:
        raise ModelError(f"the tap at {cut.tensor!r} has too many values to be read")
    truth = spec.vocabulary.leanings(rows.shares, rows.words)[:, list(known.words)]
    layer = softmax_regression.fit_shares(tap, truth / truth.sum(axis=1, keepdims=True), rows.weights)
    soft = soft_map(tap, rows.shares, rows.weights, known.labels)
    return LearnedExit(cut.tensor, cut.grid, spec.vocabulary, known.words, layer, soft)


def soft_map(tap: Values, shares: Shares, weights: NDArray[np.float32], labels: tuple[int, ...]) -> SoftMap:
    """The map from taps (N × values) to the end's probabilities (N × L) of some labels, by weighted rows."""
    return SoftMap(labels, ridge.fit(tap, shares[:, list(labels)], weights))


def commonest(counts: NDArray[Any]) -> tuple[int, ...]:
    """Numbers that occur, ascending; of more than ``MOST_WORDS`` the commonest."""
    order = np.argsort(-counts, kind="stable")[:MOST_WORDS]
    return tuple(sorted(order[counts[order] > 0].tolist()))
