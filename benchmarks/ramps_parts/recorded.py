"""ResNet-18 with an exit at each of seven places, as ``sluice learn`` makes them, and what they say of streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.caches_images_parts.cases import archive, decoded
from benchmarks.caches_locality_parts.streams import PHASES, WINDOWS, Pool, streams
from benchmarks.exit_parts.cifar import WORDS, Cifar
from benchmarks.exit_parts.taps import through
from benchmarks.ramps_parts.places import Places
from benchmarks.weg_parts.cifar_models import LARGE
from cache_adapt.exits.record import Record
from cache_adapt.learned.fit import fit
from cache_adapt.learned.learned_exit import LearnedExit
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from pipelines.measure.exit_places import exit_places
from pipelines.run.learn.costs import lookup_s, network_costs
from serving.catalogue.lookup import read_weights
from serving.common.tensors import Array, softmax

SHARES = tuple(place / 9 for place in range(1, 9))
"""Where exits are, as shares of the network's work: as many as it has blocks; the first two are one place."""
BOOTSTRAP = 1000
"""Images that the exits are learnt from: a tenth of all."""
DIM = (1.0, 0.6, 0.35)
"""Brightness of the phases of a stream: its images get harder, and mean less to exits that have not seen such."""


@dataclass(frozen=True)
class Ramps:
    """The network with its exits."""

    cifar: Cifar
    exits: Sequence[LearnedExit]
    places: Places
    """In seconds."""

    def record(self, items: Array) -> Record:
        """Their words for N items that run through the whole network; with all exits asked."""
        taps, words = _through(self.cifar, items)
        said = [each.words(tap) for each, tap in zip(self.exits, taps, strict=True)]
        errors, right = np.stack([each.errors for each in said]), np.stack([each.words == words for each in said])
        return Record.of(errors, right, latencies(self.places, range(len(self.exits))))


def latencies(places: Places, active: Sequence[int]) -> list[float]:
    """What an input takes that leaves at each active place, then what one takes that leaves nowhere."""
    asked = np.cumsum([places.overhead[place] for place in active]).tolist()
    until = [places.until[place] + s for place, s in zip(active, asked, strict=True)]
    return [*until, places.whole + (asked[-1] if asked else 0.0)]


def ramps(folder: Path) -> Ramps:
    """Learn the exits, and measure what all of it takes here on one thread."""
    jpegs, _ = archive()
    items = decoded(jpegs[:BOOTSTRAP])
    cifar = Cifar.written(folder, items[:1])
    cuts = exit_places(cifar.entry, SHARES)
    taps, words, shares = _learnt_from(cifar, cuts, items)
    exits: list[LearnedExit] = []
    for cut, tap in zip(cuts, taps, strict=True):
        spec = ExitsSpec((cut,), WORDS, 1.0)
        rows = ExitRows([tap], shares, words, np.ones(len(words), np.float32))
        exits += fit(LARGE, cifar.entry.card.identity, spec, rows).exits
    costs = network_costs(cifar.entry, [cut.tensor for cut in cuts], items[:1])
    with threadpool_limits(1, user_api="blas"):
        overhead = [costs.cut_s + lookup_s(each) for each in exits]
    return Ramps(cifar, exits, Places(costs.until_s, costs.whole_s, overhead))


def recorded(made: Ramps, window: int) -> Iterator[tuple[str, Record]]:
    """By stream, whose classes and light change; ``window``: items between two looks at the shares of its classes."""
    jpegs, labels = archive()
    rng = np.random.default_rng(0)
    for stream in streams(rng):
        pool = Pool(labels[BOOTSTRAP:], rng)
        drawn = [BOOTSTRAP + at for each in range(PHASES * WINDOWS) for at in pool.draw(stream.shares(each), window)]
        light = [DIM[at // (WINDOWS * window)] for at in range(len(drawn))]
        yield (
            stream.name,
            made.record(decoded([_dim(jpegs[at], share) for at, share in zip(drawn, light, strict=True)])),
        )


def _learnt_from(
    cifar: Cifar, cuts: Sequence[ExitCut], items: Array
) -> tuple[list[Array], NDArray[np.intp], NDArray[np.float32]]:
    model = read_weights(cifar.entry.path, cifar.entry.card)
    taps, scores = through(LARGE, model, [cut.tensor for cut in cuts], items)
    shares = softmax(scores)
    return taps, WORDS.of(shares), shares


def _through(cifar: Cifar, items: Array) -> tuple[list[Array], NDArray[np.intp]]:
    taps, words, _ = _learnt_from(cifar, exit_places(cifar.entry, SHARES), items)
    return taps, words


def _dim(jpeg: Array, share: float) -> Array:
    if share == 1:
        return jpeg
    picture = np.asarray(cv2.imdecode(jpeg, cv2.IMREAD_COLOR)) * share
    found: Array = cv2.imencode(".png", picture.astype(np.uint8))[1]
    return found
