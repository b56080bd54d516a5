"""The training of exits for nodes that recognise, in the process that runs or in an adaptation worker.

An artefact comes untuned: each stream tunes it on what it hears. So it is judged by its probabilities on samples which
were held back: these are too few to say what it would spare at thresholds that keep the promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.window import Rows
from cache_adapt.learned.artefact import ExitArtefact
from cache_adapt.learned.fit import MOST_ROWS, fit
from cache_adapt.learned.vocabulary import Vocabulary
from serving.common.threads import ThreadTime, in_thread
from serving.errors import ModelError

LEAST_SAMPLES = 150
"""Recent samples without which it need not be tried, those that are held back among them."""


class NodeNetwork(NamedTuple):
    """The network of a node."""

    name: str
    """As the query names it."""
    identity: str
    """Digest of its weights and of what it is fed."""
    labels: str | None = None
    """The digest of its labels; None where the node names whom it was shown, which only its workers know."""
    vocabulary: Vocabulary | None = None
    """None as with the labels."""


class Trainer:
    """Makes exits of samples, and judges them."""

    least_samples = LEAST_SAMPLES

    def __init__(self, networks: Mapping[str, NodeNetwork] | None = None) -> None:
        """``networks``: by the names of their nodes, where wishes come from other processes; None: from this alone."""
        self._networks = networks

    def why_foreign(self, subject: Subject) -> str | None:
        """Why samples of this network are of no use; None where they are."""
        if self._networks is None:
            return None
        known = self._networks.get(subject.node)
        if known is None or known.name != subject.network:
            return f"the query has no node {subject.node!r} with exits in {subject.network!r}"
        if known.identity != subject.network_identity:
            return f"{subject.network!r} is another file there than here, or fed otherwise: give both the same models"
        if known.labels not in (None, subject.labels):
            return f"{subject.network!r} has other classes there than here: give both the same models"
        return None

    def why_not(self, target: Target) -> str | None:
        """Why a target, which is not trusted, cannot be trained; None where it can."""
        foreign = self.why_foreign(target.subject)
        if foreign is not None:
            return foreign
        if self._networks is None:
            return None
        if self._networks[target.subject.node].vocabulary not in (None, target.spec.vocabulary):
            return "it is for other words, or another least confidence: give both the same query and models"
        return None

    async def train(self, target: Target, rows: Rows, took: ThreadTime) -> bytes:
        """Train on samples, oldest first, in a thread; SluiceError where it fails. Equal samples give equal exits."""
        return await in_thread(took.of(partial(_fitted, target, rows)))

    def judge(self, target: Target, data: bytes, held: Rows) -> float:
        """The worth of an artefact, 0…1, by recent samples, of none of which it is only checked; ModelError if damaged.

        It is the mean score of all exits; see ``LearnedExit.score``. Called in a thread where there are samples.
        """
        spec, artefact = target.spec, ExitArtefact.from_bytes(data)
        why = spec.why_unfit(artefact.card, target.subject.network_identity)
        if why is not None:
            raise ModelError(f"learned exits are {why}")
        rows = spec.layout.unpacked(held.features, held.labels) if len(held) else None
        if not rows:
            return 0.0
        places = [next(n for n, cut in enumerate(spec.cuts) if cut.tensor == each) for each in artefact.tensors]
        taps = [rows.taps[place] for place in places]
        scores = [each.score(tap, rows.words) for each, tap in zip(artefact.exits, taps, strict=True)]
        return float(np.average(np.mean(scores, axis=0), weights=rows.weights))


def _fitted(target: Target, rows: Rows) -> bytes:
    subject, layout = target.subject, target.spec.layout
    samples = layout.unpacked(rows.features[-MOST_ROWS:], rows.labels[-MOST_ROWS:])
    return fit(subject.network, subject.network_identity, target.spec, samples).to_bytes()
