"""Measures variants of one network on this machine: answers, latency, load and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from serving.catalogue.lookup import Entry, read_weights
from serving.common.tensors import Array
from serving.common.threads import usable_cores
from serving.engines.engine import Engine
from serving.errors import ModelError
from serving.profiling import contenders
from serving.profiling.agreement import Agree, Right, mean
from serving.profiling.contenders import Engines
from serving.profiling.footprint import footprint
from serving.profiling.timing import batch_sizes, median, p95
from serving.variants.profiles import Profile, fingerprint
from serving.variants.variant import Variant, reference

OnProgress = Callable[[str, float], None]
"""Called with the name of the present measurement and the share of it that is done, 0 … 1."""


@dataclass(frozen=True, slots=True)
class SmallerItems:
    """Prepared items for an input of another size."""

    items: Array
    agree: Agree


@dataclass(frozen=True, slots=True)
class ComparedItems:
    """Prepared items to compare answers on, and what is right about them."""

    items: Array
    """N × …, as the network takes them; N ≥ 1."""
    agree: Agree
    right: Right | None
    """Compares with the true answers; None where they are not known."""
    data: str
    """A description for people."""
    data_sha256: str
    smaller: Mapping[int, SmallerItems] = field(default_factory=dict)
    """The same items for variants that take a smaller input, by its width."""

    def of(self, variant: Variant) -> Array:
        return self.items if variant.size is None else self.smaller[variant.size].items

    def agreement(self, variant: Variant) -> Agree:
        """Compares the reference's outputs with those of a variant."""
        return self.agree if variant.size is None else self.smaller[variant.size].agree


@dataclass(frozen=True, slots=True)
class Answers:
    """How good a variant's answers are."""

    agreement: float
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class ProfilingOutcome:
    """The profiles measured, and why other variants could not be."""

    profiles: Sequence[Profile]
    skipped: Mapping[Variant, str]


@dataclass(frozen=True, slots=True)
class Profiler:
    """Measures variants of one model. ``budget_s`` is for latencies, which are taken in turns."""

    entry: Entry
    pictures: ComparedItems
    max_batch: int
    budget_s: float
    report: OnProgress = lambda what, share: None
    directory: Path | None = None
    """Where the model's figures on this machine are kept; None: nowhere."""

    def measure(self, files: Mapping[Variant, Path]) -> ProfilingOutcome:
        """Profiles of variants that run from these ONNX files; those that this machine cannot run are skipped."""
        models = {variant: read_weights(path, self.entry.card) for variant, path in files.items()}
        engines, skipped = contenders.opened(models, self.directory)
        if not engines:
            return ProfilingOutcome([], skipped)
        answers = self._answers(engines)
        sizes, report = batch_sizes(self.max_batch), partial(self.report, "latency")
        seconds = contenders.time_all(engines, self.pictures.of, sizes, self.budget_s, report)
        contenders.close(engines)
        profiles = [
            self._profile(variant, files[variant], seconds[variant], answers[variant])
            for variant in self._each("memory", engines)
        ]
        return ProfilingOutcome(profiles, skipped)

    def _answers(self, engines: Engines) -> Mapping[Variant, Answers]:
        first = reference(self.entry.card.name)
        chain, refused = contenders.opened({first: read_weights(self.entry.path, self.entry.card)}, self.directory)
        if refused:  # nothing is left to compare with
            raise ModelError(refused[first])
        wanted = contenders.answers(chain[first], self.pictures.items, self.max_batch)
        contenders.close(chain)
        return {
            variant: self._compared(wanted, variant, engines[variant]) for variant in self._each("answers", engines)
        }

    def _compared(self, wanted: Sequence[Array], variant: Variant, engine: Engine) -> Answers:
        agree, right = self.pictures.agreement(variant), self.pictures.right
        outputs = contenders.answers(engine, self.pictures.of(variant), self.max_batch)
        return Answers(mean(agree(wanted, outputs)), None if right is None else float(right(outputs).mean()))

    def _profile(
        self, variant: Variant, file: Path, seconds: Mapping[int, Sequence[float]], answers: Answers
    ) -> Profile:
        cost = footprint(variant, file, usable_cores(), self.max_batch, self.pictures.of(variant).shape[1:])
        return Profile(
            variant=variant.id,
            model_sha256=self.entry.card.sha256,
            fingerprint=fingerprint(variant.engine),
            latency_s={size: median(each) for size, each in seconds.items()},
            latency_p95_s={size: p95(each) for size, each in seconds.items()},
            load_s=cost.load_s,
            memory_bytes=cost.memory_bytes,
            accuracy=answers.accuracy,
            agreement=answers.agreement,
            items=len(self.pictures.items),
            data=self.pictures.data,
            data_sha256=self.pictures.data_sha256,
            measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _each(self, what: str, engines: Engines) -> Iterator[Variant]:
        for done, variant in enumerate(engines):
            self.report(what, done / len(engines))
            yield variant
