"""What an adaptation worker trains for nodes that specialise: heads, and how well heads do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.trainable import Judgement, Made, Paid
from cache_adapt.adaptation.triggers import falls_short
from cache_adapt.adaptation.window import Rows
from learning.store import write_store
from operators.wire.adaptation import LabelNumber
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError, SluiceError
from specialization.heads import measured
from specialization.heads.head import OTHER, SpecialisedHead
from specialization.templates.stored import StoredTemplate
from specialization.trainer.job import Job, ProfileJob
from specialization.trainer.trainer import Specializer

HEAD, RATES = "head", "head_rates"


class Known(NamedTuple):
    """A template of a node."""

    template: StoredTemplate
    sha256: str | None
    """Of the network that its training set was made with; None: it has no such set, so any file will do."""


Templates = Mapping[tuple[str, str], Known]
"""By the names of node and template."""


class HeadSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The head that is wanted."""

    classes: Annotated[tuple[LabelNumber, ...], Meta(min_length=1, max_length=1000)]
    training_skew: Annotated[float, Meta(ge=0.01, le=0.99)]
    tolerance: Annotated[float, Meta(ge=0, le=1)]


class RatesSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rates of heads of all sizes and tolerances: there is nothing to choose."""


class Samples:
    """Where a training finds its samples: the template's own set, and a folder for those of the window."""

    def __init__(self, templates: Templates, scratch: Path) -> None:
        self._templates, self._scratch = templates, scratch

    def why_foreign(self, subject: Subject) -> str | None:
        """Why there is nothing to train for this network; None where there is."""
        known = self._templates.get((subject.node, subject.network))
        if known is None:
            return f"the query has no node {subject.node!r} with a network {subject.network!r}"
        if known.sha256 not in (None, subject.network_sha256):
            return f"{subject.network!r} is another file there than here: give both the same templates"
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


class HeadKind:
    """Heads: a ``Trainable``."""

    kind = HEAD

    def __init__(self, samples: Samples, trainer: Specializer) -> None:
        self._samples, self._trainer = samples, trainer

    def why_foreign(self, subject: Subject) -> str | None:
        """See ``Trainable``."""
        return self._samples.why_foreign(subject)

    def why_not(self, target: Target) -> str | None:
        """See ``Trainable``."""
        return self._samples.why_foreign(target.subject) or _malformed(target.spec, HeadSpec)

    async def train(self, target: Target, rows: Rows, seed: int, paid: Paid) -> Made:
        """See ``Trainable``."""
        spec, (store, *own) = decode(target.spec, HeadSpec), self._samples.stores(target.subject, rows)
        job = Job(store, spec.classes, spec.training_skew, spec.tolerance, seed, own=own[0] if own else None)
        head = await self._trainer.train(job, paid)
        classes = ", ".join(map(str, spec.classes))
        return Made(head.to_bytes(), f"classes {classes}; answers for {1 - head.rates.e_in_out:.0%} of what they are")

    def judge(self, target: Target, data: bytes, held: Rows) -> Judgement:
        """See ``Trainable``: worth is the share of the objects that it answers for as the oracle does."""
        spec, head = decode(target.spec, HeadSpec), SpecialisedHead.from_bytes(data)
        if head.classes != spec.classes:
            raise ModelError("a specialised head is damaged: it is for other classes")
        if not len(held):
            return Judgement(0.0)
        if held.features.shape[1] != len(head.weights):
            raise ModelError("a specialised head is damaged: it is for another network")
        said, _ = head.decide(held.features)
        answered, right = int((said != OTHER).sum()), int((said == held.labels).sum())
        if falls_short(right, answered, 1 - spec.tolerance):
            return Judgement(
                right / len(held), f"{answered - right} of its {answered} answers on recent samples are wrong"
            )
        return Judgement(right / len(held))


class RatesKind:
    """How well heads do that are trained on the window: a ``Trainable`` for templates without a set of their own."""

    kind = RATES

    def __init__(self, samples: Samples, trainer: Specializer) -> None:
        self._samples, self._trainer = samples, trainer

    def why_foreign(self, subject: Subject) -> str | None:
        """See ``Trainable``."""
        return self._samples.why_foreign(subject)

    def why_not(self, target: Target) -> str | None:
        """See ``Trainable``."""
        return self._samples.why_foreign(target.subject) or _malformed(target.spec, RatesSpec)

    async def train(self, target: Target, rows: Rows, seed: int, paid: Paid) -> Made:
        """See ``Trainable``."""
        *_, store = self._samples.stores(target.subject, rows)
        found = await self._trainer.profile(ProfileJob(store, seed), paid)
        return Made(measured.to_bytes(found, len(rows)), f"rates of heads for up to {max(found[0].rates)} classes")

    def judge(self, target: Target, data: bytes, held: Rows) -> Judgement:
        """See ``Trainable``: worth is 1 − 1/√n for n samples, as the error of a share falls with their number."""
        _, samples = measured.from_bytes(data)
        return Judgement(1 - max(samples, 1) ** -0.5)


def _malformed(spec: bytes, kind: type[HeadSpec] | type[RatesSpec]) -> str | None:
    try:
        decode(spec, kind)
    except Malformed as error:
        return f"the spec cannot be read: {error}"
    return None
