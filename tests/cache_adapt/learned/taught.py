"""Samples of a network whose taps tell its answer the better the later the cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import fit
from cache_adapt.learned.heard import Heard
from cache_adapt.learned.pooled import PoolRule, ShownLooks
from cache_adapt.learned.rows import FOLDS, ExitRows
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from cache_adapt.learned.vocabulary import Vocabulary
from serving.common.tensors import softmax

SHA = "ab" * 32
LABELS, GRID = 4, (6, 2, 2)
WORDS = Vocabulary(labels=LABELS, least_confidence=0.6, nameless=(3,))
NOISES = (7.0, 4.0)
SPEC = ExitsSpec((ExitCut("early", GRID, 0.3), ExitCut("late", GRID, 0.7)), WORDS, 0.9)


def samples(count: int = 600, seed: int = 0, noises: Sequence[float] = NOISES, mix: Sequence[float] = ()) -> ExitRows:
    """Inputs of which a third is doubtful; ``noises``: by cut; ``mix``: how often each label is shown."""
    centres = np.random.default_rng(5).normal(0, 1, (LABELS, 24))
    rng = np.random.default_rng(seed)
    labels = rng.choice(LABELS, count, p=list(mix) or None)
    scores = np.eye(LABELS)[labels] * rng.choice([0.5, 4.0, 6.0], count)[:, None] + rng.normal(0, 0.3, (count, LABELS))
    shares = softmax(scores.astype(np.float32))
    clear = shares @ centres
    taps = [(clear + rng.normal(0, noise / 3, clear.shape)).astype(np.float32) for noise in noises]
    return ExitRows(taps, shares, WORDS.of(shares), np.ones(count, np.float32))


def in_folds(rows: ExitRows) -> ExitRows:
    """Each in the fold after that of the one before."""
    return replace(rows, folds=np.arange(len(rows)) % FOLDS)


def listened(
    artefact: ExitArtefact, rows: ExitRows, objects: Sequence[str] | None = None, rule: PoolRule | None = None
) -> Heard:
    """What exits say of looks at whole objects; None: each is at another."""
    names = [str(row) for row in range(len(rows))] if objects is None else objects
    return Heard.of(artefact.exits, replace(rows, shown=ShownLooks.of(names)), rule)


def exits(count: int = 600, spec: ExitsSpec = SPEC) -> ExitArtefact:
    """Exits that are trained on so many samples; they answer nothing yet."""
    return fit("vehicle", SHA, spec, samples(count))
