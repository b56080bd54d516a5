"""Learned caches on streams whose dominant classes change: built once, against trained anew (GATI, §7.2).

ResNet-18 looks at CIFAR-10 test images. A stream draws classes from a distribution that changes twice, at once or step
by step. In each of its windows some images are samples for training, as many as workers send, others are measured; no
image is ever both.
Caches are trained after the first phase and after every second window since, on samples of the last hour. Static caches
are the first that pay, and stay. Adapted ones are exchanged where new ones are worth more on samples that are held
back: by the window, the kind and the rule of an adaptation worker, but that every image counts as one sample, since
none shows the same object as another. Measuring begins after the first phase. New caches answer at once here; in a
worker they first prove themselves while the oracle answers.

What a look costs is the measured processor time of single images that leave at each place, on one thread, by turns. The
network is cut at all places as long as it has caches; only where there is one is it asked.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from benchmarks.caches_images_parts.cases import NAME, archive, decoded, network
from benchmarks.harness import Outcome, Row, interleaved, run
from cache_adapt.adaptation.gain import why_not_published
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.window import Sample, SampleWindow
from cache_adapt.caches.job import CachesJob, answered
from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.store import BuiltCaches
from cache_adapt.caches.training import Lessons, train_predictor
from learning.array_files import as_features
from operators.recognise.cached.building import ARCHITECTURES, CutPlan
from operators.recognise.cached.cache_kind import CachedOracle, CacheKind
from operators.recognise.cached.cache_specs import CACHES, CachesSpec
from operators.recognise.cached.send_rate import AT_ONCE, PER_S
from pipelines.assembly.cache_source import PLACES
from pipelines.measure.tapped_pictures import forward_tapped
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import Answering, Exits
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import SluiceError
from serving.graphs.segments import CutPoint, cut_points
from serving.graphs.taps import tap_grid, tapped

CLASSES, TARGET = 10, 0.97
PHASES, WINDOWS, WINDOW_S = 3, 4, 300.0
"""Windows of a phase, and their length in the stream's time."""
LOOKS = 120
"""Looks of a window that are measured."""
IMAGES, QUICK_IMAGES = 10_000, 600
MEASURED = 0.25
"""Share of each class's images that are measured, and never trained on."""
TIMED = 40
SHA = "0" * 64


Places = tuple[int, ...]
"""Which of the places have caches."""


@dataclass(frozen=True)
class Stream:
    """Shares of the classes over time."""

    name: str
    phases: Sequence[NDArray[np.float64]]
    gradual: bool

    def shares(self, window: int) -> NDArray[np.float64]:
        """Return the share of each class in a window."""
        at = window / WINDOWS
        now, next_ = self.phases[int(at)], self.phases[min(int(at) + 1, PHASES - 1)]
        return (1 - at % 1) * now + at % 1 * next_ if self.gradual else now


@dataclass(frozen=True)
class Images:
    """What the network makes of all images, and what looks cost."""

    plan: Sequence[CutPlan]
    taps: Sequence[Array]
    """By place, N × values."""
    answers: NDArray[np.intp]
    labels: NDArray[np.intp]
    leave_s: Mapping[Places, Sequence[float]]
    """By places that have caches: seconds of a look that leaves at each of them, then of one that leaves at none."""
    whole_s: float


class Builder:
    """Builds caches in this process, from samples that each count as one."""

    async def run(self, job: bytes) -> bytes:
        """See ``Runner``."""
        wanted = msgspec.structs.replace(msgspec.json.decode(job, type=CachesJob), independent=1.0)
        return msgspec.json.encode(answered(wanted))

    async def close(self) -> None:
        """See ``Runner``."""


def measure(quick: bool) -> Outcome:
    """All streams with static and with adapted caches."""
    images = _images(QUICK_IMAGES if quick else IMAGES)
    with tempfile.TemporaryDirectory() as folder:
        kind = CacheKind({"node": CachedOracle(NAME, SHA, SHA, CLASSES)}, Builder(), Path(folder))
        rows = [
            row for stream in streams(default_rng(1))[: 1 if quick else None] for row in _rows(stream, images, kind)
        ]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def streams(rng: Generator) -> list[Stream]:
    """Two classes and Zipf's law, with abrupt changes; two classes with a gradual one."""
    two, mild, steep = (partial(_zipf, rng, exponent) for exponent in (None, 1.5, 3.0))
    made: list[tuple[str, Callable[[], NDArray[np.float64]], bool]] = [
        ("two classes, abrupt", two, False),
        ("Zipf 3.0, abrupt", steep, False),
        ("Zipf 1.5, abrupt", mild, False),
        ("two classes, gradual", two, True),
    ]
    return [Stream(name, [draw() for _ in range(PHASES)], gradual) for name, draw, gradual in made]


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """By stream and way, over all windows: speed, agreement of all looks, and of the caches' answers."""
    found: dict[str, Any] = {}
    for row in rows:
        found.setdefault(row["stream"], {}).setdefault(row["way"], []).append(row)
    return {stream: {way: _summed(some) for way, some in ways.items()} for stream, ways in found.items()}


def _summed(rows: Sequence[Row]) -> dict[str, float]:
    looks, given = sum(row["looks"] for row in rows), sum(row["answered"] for row in rows)
    wrong = sum(row["answered"] - row["right"] for row in rows)
    return {
        "speedup": round(sum(row["whole_ms"] for row in rows) / sum(row["processor_ms"] for row in rows), 3),
        "agreement": round(1 - wrong / looks, 4),
        "of_answers": round(1 - wrong / max(given, 1), 4),
        "hits": round(given / looks, 3),
    }


def _zipf(rng: Generator, exponent: float | None) -> NDArray[np.float64]:
    """Shares of the classes in random order; without an exponent: two that are equal."""
    ranks = np.arange(1, CLASSES + 1)
    weights = (ranks <= 2).astype(float) if exponent is None else ranks**-exponent
    return rng.permutation(weights / weights.sum())


def _rows(stream: Stream, images: Images, kind: CacheKind) -> Iterator[Row]:
    spec = CachesSpec.of(images.plan, TARGET)
    target = Target(Subject("node", NAME, SHA, SHA), CACHES, msgspec.json.encode(spec))
    features, rng = np.concatenate(images.taps, axis=1), default_rng(2)
    window, used = SampleWindow(features.shape[1], 1 << 30), dict.fromkeys(("static", "adapted"), b"")
    pools: list[_Pool] = []
    for number in range(PHASES * WINDOWS):
        if number % WINDOWS == 0:
            pools = [_Pool(images.labels, measured, rng) for measured in (False, True)]
        shares = stream.shares(number)
        if number >= WINDOWS:
            looks = pools[1].draw(shares, LOOKS)
            yield from (_row(stream.name, number, way, data, images, looks) for way, data in used.items())
        samples = round(PER_S * WINDOW_S) if number else AT_ONCE
        for place, image in enumerate(pools[0].draw(shares, samples)):
            at_s = (number + place / samples) * WINDOW_S
            window.add("cam", Sample(at_s, int(images.answers[image]), as_features(features[image])), at_s)
        if number % 2 and number >= WINDOWS - 1:
            used["adapted"] = asyncio.run(_trained(kind, target, window, (number + 1) * WINDOW_S, used["adapted"]))
            used["static"] = used["static"] or used["adapted"]


async def _trained(kind: CacheKind, target: Target, window: SampleWindow, now_s: float, current: bytes) -> bytes:
    """What is in use after a training."""
    rows, held = window.split(now_s, 2000, default_rng(int(now_s)))
    try:
        made = await kind.train(target, rows, int(now_s), lambda processor_s: None)
    except SluiceError:
        return current
    before = kind.judge(target, current, held) if current else None
    why_not = why_not_published(made.data, kind.judge(target, made.data, held), before, len(held))
    return made.data if why_not is None else current


class _Pool:
    """Images of one side; each is drawn once, as long as there are others of its class."""

    def __init__(self, labels: NDArray[np.intp], measured: bool, rng: Generator) -> None:
        self._rng, self._left, self._all = rng, dict[int, list[int]](), dict[int, list[int]]()
        for each in range(CLASSES):
            places = np.flatnonzero(labels == each)
            cut = round(MEASURED * len(places))
            self._all[each] = (places[:cut] if measured else places[cut:]).tolist()

    def draw(self, shares: NDArray[np.float64], count: int) -> list[int]:
        found = []
        for each in self._rng.choice(CLASSES, count, p=shares).tolist():
            if not self._left.get(each):
                self._left[each] = self._rng.permutation(self._all[each]).tolist()
            found.append(self._left[each].pop())
        return found


def _row(stream: str, number: int, way: str, data: bytes, images: Images, looks: Sequence[int]) -> Row:
    """One window of a stream with one set of caches."""
    left, seconds, given, right = np.asarray(looks), 0.0, 0, 0
    caches = {cache.tensor: cache for cache in BuiltCaches.from_bytes(data).caches} if data else {}
    places = tuple(place for place, cut in enumerate(images.plan) if cut.tensor in caches)
    costs_s = images.leave_s[places] if places else [images.whole_s]
    for place, leave_s in zip(places, costs_s, strict=False):
        if len(left):
            found = caches[images.plan[place].tensor].look(images.taps[place][left].astype(np.float32))
            given += int(found.hit.sum())
            right += int((found.distribution.argmax(axis=1) == images.answers[left])[found.hit].sum())
            seconds += leave_s * int(found.hit.sum())
            left = left[~found.hit]
    seconds += costs_s[-1] * len(left)
    return {
        "stream": stream,
        "window": number,
        "way": way,
        "looks": len(looks),
        "answered": given,
        "right": right,
        "agreement": round(1 - (given - right) / len(looks), 4),
        "processor_ms": round(1e3 * seconds, 2),
        "whole_ms": round(1e3 * images.whole_s * len(looks), 2),
        "speedup": round(images.whole_s * len(looks) / seconds, 3),
    }


def _images(count: int) -> Images:
    jpegs, labels = archive()
    chosen = default_rng(0).permutation(len(jpegs))[:count]
    items, model = decoded([jpegs[at] for at in chosen]), network()
    points = [point for point in cut_points(model) if tap_grid(point)]
    nearest = {min(range(len(points)), key=lambda at: abs(points[at].share - share)) for share in PLACES}
    places = [points[at] for at in sorted(nearest)]
    plan = [CutPlan(point.tensor, tap_grid(point) or (1, 1, 1), point.share) for point in places]
    taps, scores = forward_tapped(NAME, model, places, items, lambda what, share: None)
    whole_s, leave_s = _costs(model, places, plan, items[:TIMED])
    return Images(plan, taps, scores.argmax(axis=1), labels[chosen].astype(np.intp), leave_s, whole_s)


def _costs(
    model: Any, places: Sequence[CutPoint], plan: Sequence[CutPlan], items: Array
) -> tuple[float, dict[Places, list[float]]]:
    """Median processor seconds: of the whole network, and by places with caches of leaving at each and at none."""
    whole = EngineNetwork(NAME, model, OnnxRuntimeEngine(NAME, threads=1))
    exits = Exits([cut.tensor for cut in plan])
    opened = ExitNetwork(NAME, tapped(model, places), exits, OnnxRuntimeEngine(NAME, threads=1))
    turns = iter(range(10**9))

    def timed(run: Callable[[Array], object], answering: Answering) -> float:
        exits.exchange(answering)
        item = items[next(turns) % len(items)][None]
        started_s = time.process_time()
        run(item)
        return time.process_time() - started_s

    runs: dict[tuple[Places, int], Callable[[], float]] = {((), 0): partial(timed, whole.run, Answering({}))}
    chosen = [some for count in range(1, len(plan) + 1) for some in combinations(range(len(plan)), count)]
    for some in chosen:
        for leaves in range(len(some) + 1):
            caches = [_blank(plan[place], 2.0 if at == leaves else 0.0) for at, place in enumerate(some)]
            answering = Answering({cache.tensor: cache for cache in caches}, CLASSES, 1)
            runs[some, leaves] = partial(timed, opened.run, answering)
    took = interleaved(runs, TIMED)
    leave_s = {some: [median(took[some, leaves]) for leaves in range(len(some) + 1)] for some in chosen}
    return median(took[(), 0]), leave_s


def _blank(cut: CutPlan, threshold: float) -> LearnedCache:
    """A cache that has learnt nothing; the clock does not care."""
    nothing = Lessons(np.zeros((2, int(np.prod(cut.grid))), np.float32), cut.grid, np.zeros(2, np.intp), None, CLASSES)
    return LearnedCache(cut.tensor, train_predictor(ARCHITECTURES[0], nothing, default_rng(0), 0), None, threshold)


def _draw(rows: Sequence[Row], figure: Any) -> None:
    names = list(dict.fromkeys(row["stream"] for row in rows))
    figure.set_size_inches(11, 2.6 * len(names))
    for line, (name, pair) in enumerate(zip(names, figure.subplots(len(names), 2, squeeze=False), strict=True)):
        for way in ("static", "adapted"):
            some = [row for row in rows if (row["stream"], row["way"]) == (name, way)]
            for axes, key in zip(pair, ("speedup", "agreement"), strict=True):
                axes.plot([row["window"] for row in some], [row[key] for row in some], marker=".", label=way)
        for axes, key in zip(pair, ("times as fast as the whole", "agreement, all looks"), strict=True):
            axes.axvline(2 * WINDOWS - 0.5, color="grey", linewidth=0.8)
            axes.set(title=name, ylabel=key, xlabel="window of five minutes" if line == len(names) - 1 else "")
            axes.grid(alpha=0.3)
            axes.legend()


if __name__ == "__main__":
    run("caches_locality", measure, __doc__ or "")
