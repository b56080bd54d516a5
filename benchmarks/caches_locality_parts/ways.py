"""Ways to have caches follow a stream, each by the window, the kind and the rule of an adaptation worker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from benchmarks.caches_images_parts.cases import NAME
from benchmarks.caches_locality_parts.images import Images
from benchmarks.caches_locality_parts.published import Published
from benchmarks.caches_locality_parts.streams import CLASSES, PHASES, WINDOW_S, WINDOWS, Pool, Stream, side_of
from benchmarks.harness import Row
from cache_adapt.adaptation.gain import why_not_published
from cache_adapt.adaptation.jobs import TRAINED_ROWS
from cache_adapt.adaptation.send_rate import AT_ONCE, PER_S
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.window import Sample, SampleWindow
from cache_adapt.caches.job import CachesJob, answered
from cache_adapt.caches.store import BuiltCaches
from learning.array_files import as_features
from learning.store import write_store
from operators.recognise.cached.cache_kind import CachedOracle, CacheKind
from operators.recognise.cached.cache_specs import CACHES, CachesSpec, CutSpec
from operators.recognise.cached.validation import ValidationSet
from serving.errors import SluiceError

TARGET = 0.97
LOOKS = 240
"""Looks of a window that are measured."""
SHA = "0" * 64


@dataclass(frozen=True)
class Way:
    """How caches are made."""

    name: str
    validation: bool = True
    """Whether they learn from a validation set too."""
    every: int = 2
    """Windows between two trainings."""
    per_s: float = PER_S
    """Samples of a second."""
    stays: bool = False
    """Whether the first that pay stay."""


STATIC, ADAPTED, ALONE = Way("static", stays=True), Way("adapted"), Way("samples alone", validation=False)
WAYS = (STATIC, ADAPTED, ALONE)
INTERVALS = {round(every * WINDOW_S / 60): Way("adapted", every=every) for every in (1, 2, 4, 8)}
"""By minutes between two trainings."""
RATES = {per_s: Way("adapted", per_s=per_s) for per_s in (PER_S / 4, PER_S, PER_S * 4)}
"""By samples of a second."""


class Builder:
    """Builds caches in this process, from samples that each count as one."""

    async def run(self, job: bytes) -> bytes:
        """See ``Runner``."""
        wanted = msgspec.structs.replace(msgspec.json.decode(job, type=CachesJob), independent=1.0)
        return msgspec.json.encode(answered(wanted))

    async def close(self) -> None:
        """See ``Runner``."""


class Trainer:
    """What an adaptation worker would publish for one stream."""

    def __init__(self, way: Way, images: Images, folder: Path) -> None:
        spec = CachesSpec.of(images.plan, TARGET)
        kept = _validation(images, spec.cuts, folder / "validation") if way.validation else None
        self._kind = CacheKind({"node": CachedOracle(NAME, SHA, SHA, CLASSES, kept)}, Builder(), folder)
        self._target = Target(Subject("node", NAME, SHA, SHA), CACHES, msgspec.json.encode(spec))
        self.data, self.version = b"", 0
        """The caches in use."""

    def train(self, window: SampleWindow, now_s: float) -> None:
        """Train anew, and exchange where that is worth it."""
        rows, held = window.split(now_s, TRAINED_ROWS, default_rng(int(now_s)))
        kind, target = self._kind, self._target
        try:
            made = asyncio.run(kind.train(target, rows, int(now_s), lambda processor_s: None))
        except SluiceError:
            return
        before = kind.judge(target, self.data, held) if self.data else None
        if why_not_published(made.data, kind.judge(target, made.data, held), before, len(held)) is None:
            self.data, self.version = made.data, self.version + 1


def follow(stream: Stream, way: Way, images: Images, folder: Path) -> Iterator[Row]:
    """A row for each window of a stream after its first phase."""
    trainer, window = Trainer(way, images, folder), SampleWindow(sum(tap.shape[1] for tap in images.taps), 1 << 30)
    published, seen, features = Published(TARGET, default_rng(4)), default_rng(2), np.concatenate(images.taps, axis=1)
    shown = default_rng(3)
    for number in range(PHASES * WINDOWS):
        if number % WINDOWS == 0:
            looks, samples = Pool(images.labels, "measured", seen), Pool(images.labels, "samples", shown)
        shares = stream.shares(number)
        if number >= WINDOWS:
            yield window_row(stream.name, number, way, trainer, images, looks.draw(shares, LOOKS), published)
        count = round(way.per_s * WINDOW_S) if number else AT_ONCE
        for place, image in enumerate(samples.draw(shares, count)):
            at_s = (number + place / count) * WINDOW_S
            window.add("cam", Sample(at_s, int(images.answers[image]), as_features(features[image])), at_s)
        since_first = number - (WINDOWS - 1)
        if since_first >= 0 and since_first % way.every == 0 and not (way.stays and trainer.data):
            trainer.train(window, (number + 1) * WINDOW_S)


def window_row(
    stream: str, number: int, way: Way, trainer: Trainer, images: Images, looks: Sequence[int], published: Published
) -> Row:
    """One window of a stream."""
    caches = {cache.tensor: cache for cache in BuiltCaches.from_bytes(trainer.data).caches} if trainer.data else {}
    places = tuple(place for place, cut in enumerate(images.plan) if cut.tensor in caches)
    costs_s = images.leave_s[places] if places else [images.whole_s]
    left, seconds = np.asarray(looks), 0.0
    right: list[NDArray[np.bool_]] = [np.zeros(0, bool)]
    for place, leave_s in zip(places, costs_s, strict=False):
        if len(left):
            found = caches[images.plan[place].tensor].look(images.taps[place][left].astype(np.float32))
            right.append((found.distribution.argmax(axis=1) == images.answers[left])[found.hit])
            seconds += leave_s * int(found.hit.sum())
            left = left[~found.hit]
    seconds += costs_s[-1] * len(left)
    given = np.concatenate(right)
    interval = published.saw(trainer.version, given.tolist())
    return {
        "stream": stream,
        "way": way.name,
        "interval_min": round(way.every * WINDOW_S / 60),
        "samples_per_s": way.per_s,
        "window": number,
        "looks": len(looks),
        "answered": len(given),
        "right": int(given.sum()),
        "agreement": round(1 - int((~given).sum()) / len(looks), 4),
        "processor_ms": round(1e3 * seconds, 2),
        "whole_ms": round(1e3 * images.whole_s * len(looks), 2),
        "speedup": round(images.whole_s * len(looks) / seconds, 3),
        "low": "" if interval is None else round(interval.low, 4),
        "high": "" if interval is None else round(interval.high, 4),
        "truth": "" if interval is None else round(interval.truth, 4),
    }


def _validation(images: Images, cuts: tuple[CutSpec, ...], folder: Path) -> ValidationSet:
    rows = np.concatenate(side_of(images.labels, "validation"))
    write_store(folder, np.concatenate([tap[rows] for tap in images.taps], axis=1), images.answers[rows])
    return ValidationSet(folder, cuts)
