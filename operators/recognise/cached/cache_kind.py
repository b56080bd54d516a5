"""An adaptation worker's training for nodes with learned caches: a ``Trainable``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.trainable import Judgement, MadeArtefact, Paid
from cache_adapt.adaptation.triggers import falls_short
from cache_adapt.adaptation.versions import LARGEST_BYTES
from cache_adapt.adaptation.window import Rows
from cache_adapt.caches.store import BuiltCaches
from cache_adapt.caches.worth import Tried, tried
from cache_adapt.compose.problem import WORTH
from learning.store import write_store
from operators.recognise.cached.building import BUILDING_S, CUT_S, INDEPENDENT, CutNetwork, Runner, answer_of, job
from operators.recognise.cached.cache_specs import CACHES, CachesSpec
from operators.recognise.cached.validation import ValidationSet
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError

LOOK_S, LOOKUP_S = 0.010, 0.00025
"""Processor seconds of a look and of a lookup, as they are taken to be: workers leave out what does not pay there."""
LEAST_SAMPLES = 500
"""Caches are built from so many samples first: fewer can hardly show that 97 answers in 100 are right."""
LEAST_JUDGED = 20
"""Fewest samples by which caches are judged."""
WEIGHT_BYTES = 2 * (LARGEST_BYTES - (64 << 10))
"""The most weights in float32, so that in float16 they and their card are no larger than an artefact may be."""


class CachedOracle(NamedTuple):
    """The oracle of a node with caches."""

    name: str
    """As the query names it."""
    identity: str
    """The card's."""
    labels: str
    """The digest of its words."""
    classes: int
    validation: ValidationSet | None = None


class CacheKind:
    """Caches inside oracles: a ``Trainable``."""

    kind = CACHES
    least_samples = LEAST_SAMPLES

    def __init__(self, oracles: Mapping[str, CachedOracle], runner: Runner, scratch: Path) -> None:
        """``oracles``: by the names of their nodes; ``scratch``: a folder for the samples of a training."""
        self._oracles, self._runner, self._scratch = oracles, runner, scratch

    def why_foreign(self, subject: Subject) -> str | None:
        known = self._oracles.get(subject.node)
        if known is None or known.name != subject.network:
            return f"the query has no node {subject.node!r} with caches in {subject.network!r}"
        if known.identity != subject.network_identity:
            return f"{subject.network!r} is another file there than here, or fed otherwise: give both the same models"
        if known.labels != subject.labels:
            return f"{subject.network!r} has other classes there than here: give both the same models"
        return None

    def why_not(self, target: Target) -> str | None:
        foreign = self.why_foreign(target.subject)
        if foreign is not None:
            return foreign
        try:
            decode(target.spec, CachesSpec)
        except Malformed as error:
            return f"the spec cannot be read: {error}"
        return None

    async def train(self, target: Target, rows: Rows, seed: int, paid: Paid) -> MadeArtefact:
        """See ``Trainable``; a process of its own builds them."""
        spec, known = decode(target.spec, CachesSpec), self._oracles[target.subject.node]
        write_store(self._scratch / CACHES, rows.features, rows.labels)
        kept = known.validation
        validation = kept.directory if kept is not None and kept.is_of(spec.places) else None
        network = CutNetwork(known.name, known.identity, known.classes, spec.places, validation)
        wanted = job(network, LOOK_S, self._scratch / CACHES, spec.agreement, seed, WEIGHT_BYTES)
        seconds = BUILDING_S
        try:
            answer = await answer_of(self._runner, wanted)
            seconds = max(answer.processor_s, 0.0)
            built = answer.built()
        except Malformed as error:
            raise ModelError(f"what builds caches gave no answer: {error}") from None
        finally:
            paid(seconds)
        share, places = sum(each.hit_rate for each in built.card.caches), len(built.caches)
        return MadeArtefact(built.to_bytes(half=True), f"at {places} places; they answer for {share:.0%}")

    def judge(self, target: Target, data: bytes, held: Rows) -> Judgement:
        """See ``Trainable``: worth is the share of the network's work that right answers spare, less what they cost."""
        spec, known, built = *self._wanted(target), BuiltCaches.from_bytes(data)
        why = spec.why_unfit(built, known.identity, known.classes)
        if why is not None:
            raise ModelError(f"learned caches are {why}")
        if not len(held):
            return Judgement(0.0)
        if held.features.shape[1] != spec.dims:
            raise ModelError("learned caches are for other activations")
        found = _tried(spec, built, held)
        worth = max(found.spared - (len(spec.cuts) * CUT_S + found.lookups * LOOKUP_S) / LOOK_S, 0.0)
        if len(held) < LEAST_JUDGED:
            return Judgement(worth)
        count = round(found.answered * INDEPENDENT)
        if found.answered and falls_short(round(found.right / found.answered * count), count, spec.agreement):
            wrong = 1 - found.right / found.answered
            return Judgement(worth, f"{wrong:.0%} of their answers to {len(held)} recent samples are wrong")
        if worth < WORTH:
            return Judgement(worth, f"they would save {worth:.0%} of the work on {len(held)} recent samples")
        return Judgement(worth)

    def _wanted(self, target: Target) -> tuple[CachesSpec, CachedOracle]:
        return decode(target.spec, CachesSpec), self._oracles[target.subject.node]


def _tried(spec: CachesSpec, built: BuiltCaches, held: Rows) -> Tried:
    ends = np.cumsum([cut.values for cut in spec.cuts])
    parts = np.split(held.features.astype(np.float32), ends[:-1], axis=1)
    taps = {cut.tensor: (cut, part) for cut, part in zip(spec.cuts, parts, strict=True)}
    used = [taps[cache.tensor] for cache in built.caches]
    return tried(built.caches, [part for _, part in used], held.labels, [cut.share for cut, _ in used])
