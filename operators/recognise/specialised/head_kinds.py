"""An adaptation worker's training for nodes that specialise: heads, and how well heads do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.trainable import Judgement, MadeArtefact, Paid
from cache_adapt.adaptation.triggers import falls_short
from cache_adapt.adaptation.window import Rows
from learning.store import write_store
from operators.recognise.specialised.head_specs import HEAD, RATES, HeadSpec, RatesSpec
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError, SluiceError
from specialization.heads import measured
from specialization.heads.head import OTHER, SpecialisedHead
from specialization.heads.train import JUDGED_SKEW
from specialization.templates.stored import StoredTemplate
from specialization.trainer.job import Job, ProfileJob
from specialization.trainer.trainer import Specializer


class KnownTemplate(NamedTuple):
    """A template of a node."""

    template: StoredTemplate
    identity: str | None
    """``head_identity`` of the networks that its training set was made with; None: it has no set, any will do."""
    labels: str | None
    """The digest of the oracle's words; None where the oracle names whom it was shown."""


Templates = Mapping[tuple[str, str], KnownTemplate]
"""By the names of node and template."""


class TrainingSamples:
    """Where a training finds its samples: the template's own set, and a folder for those of the window."""

    def __init__(self, templates: Templates, scratch: Path) -> None:
        self._templates, self._scratch = templates, scratch

    def why_foreign(self, subject: Subject) -> str | None:
        """Why there is nothing to train for this network; None where there is."""
        known = self._templates.get((subject.node, subject.network))
        if known is None:
            return f"the query has no node {subject.node!r} with a network {subject.network!r}"
        if known.identity not in (None, subject.network_identity):
            return (
                f"{subject.network!r} is another file there than here, or fed otherwise: give both the same templates"
            )
        if known.labels not in (None, subject.labels):
            return f"the oracle of node {subject.node!r} has other classes there than here: give both the same models"
        return None

    def stores(self, subject: Subject, rows: Rows) -> list[str]:
        """Write the samples; the directories of all that may be trained on. SluiceError where there is nothing."""
        template, own = self._templates[subject.node, subject.network].template, self._scratch / "window"
        found = [str(template.directory)] if template.has_store else []
        if len(rows):
            write_store(own, rows.features, rows.labels)
            found.append(str(own))
        if not found:
            raise SluiceError("there are no samples yet")
        return found


class _OnTemplates:
    """The common part of both kinds: they are trained on samples of templates."""

    least_samples = 0

    def __init__(self, samples: TrainingSamples, trainer: Specializer) -> None:
        self._samples, self._trainer = samples, trainer

    def why_foreign(self, subject: Subject) -> str | None:
        return self._samples.why_foreign(subject)


class HeadKind(_OnTemplates):
    """Heads: a ``Trainable``."""

    kind = HEAD

    def why_not(self, target: Target) -> str | None:
        return self._samples.why_foreign(target.subject) or _malformed(target.spec, HeadSpec)

    async def train(self, target: Target, rows: Rows, seed: int, paid: Paid) -> MadeArtefact:
        spec, (store, *own) = decode(target.spec, HeadSpec), self._samples.stores(target.subject, rows)
        job = Job(store, spec.classes, spec.training_skew, spec.tolerance, seed, own=own[0] if own else None)
        head = await self._trainer.train(job, paid)
        classes = ", ".join(map(str, spec.classes))
        return MadeArtefact(
            head.to_bytes(), f"classes {classes}; answers for {1 - head.rates.e_in_out:.0%} of what they are"
        )

    def judge(self, target: Target, data: bytes, held: Rows) -> Judgement:
        """See ``Trainable``: worth is the share of a stream's objects that it answers for as the oracle does."""
        spec, head = decode(target.spec, HeadSpec), SpecialisedHead.from_bytes(data)
        if head.classes != spec.classes:
            raise ModelError("a specialised head is damaged: it is for other classes")
        if not len(held):
            return Judgement(0.0)
        if held.features.shape[1] != len(head.weights):
            raise ModelError("a specialised head is damaged: it is for another network")
        said, _ = head.decide(held.features)
        weights = stream_weights(np.isin(held.labels, spec.classes))
        answered, right = said != OTHER, said == held.labels
        worth = float(weights[right].sum())
        given = weights[answered]
        # As many as would tell as much if they all weighed the same (Kish, 1965).
        count = round(float(given.sum() ** 2 / (given**2).sum())) if len(given) else 0
        share = worth / float(given.sum()) if count else 1.0
        if falls_short(round(share * count), count, 1 - spec.tolerance):
            return Judgement(worth, f"{1 - share:.0%} of its answers to {len(held)} recent samples are wrong")
        return Judgement(worth)


class RatesKind(_OnTemplates):
    """How well heads do that are trained on the window: a ``Trainable`` for templates without a set of their own."""

    kind = RATES

    def why_not(self, target: Target) -> str | None:
        return self._samples.why_foreign(target.subject) or _malformed(target.spec, RatesSpec)

    async def train(self, target: Target, rows: Rows, seed: int, paid: Paid) -> MadeArtefact:
        *_, store = self._samples.stores(target.subject, rows)
        found = await self._trainer.profile(ProfileJob(store, seed), paid)
        return MadeArtefact(
            measured.to_bytes(found, len(rows)), f"rates of heads for up to {max(found[0].rates)} classes"
        )

    def judge(self, target: Target, data: bytes, held: Rows) -> Judgement:
        """See ``Trainable``: worth is 1 − 1/√n for n samples, as the error of a share falls with their number."""
        _, samples = measured.from_bytes(data)
        return Judgement(1 - max(samples, 1) ** -0.5)


def stream_weights(inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights of samples, with which they stand for a stream that a head is judged for; they sum to 1.

    Workers take only few samples of frequent classes, so that as they are they show less skew than the stream has.
    """
    counts, shares = (inside.sum(), (~inside).sum()), (JUDGED_SKEW, 1 - JUDGED_SKEW)
    each = [share / count if count else 0.0 for share, count in zip(shares, counts, strict=True)]
    weights: NDArray[np.float64] = np.where(inside, *each)
    weights /= weights.sum()
    return weights


def _malformed(spec: bytes, kind: type[HeadSpec] | type[RatesSpec]) -> str | None:
    try:
        decode(spec, kind)
    except Malformed as error:
        return f"the spec cannot be read: {error}"
    return None
