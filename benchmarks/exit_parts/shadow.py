"""Looks in the shadow: they run through the cuts to the end, and exits say beside it what they would have answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.exit_parts.taps import cut_network
from benchmarks.recogniser_parts.dear import DEAR, MIDDLE, ready
from cache_adapt.learned.fit import fit
from cache_adapt.learned.rows import ExitRows
from cache_adapt.learned.specs import ExitCut, ExitsSpec
from cache_adapt.learned.vocabulary import Vocabulary
from operators.recognise.exits.heard_exits import ExitsInUse
from pipelines.measure.exit_places import exit_places
from serving.catalogue.lookup import Catalogue, Entry, read_weights
from serving.common.tensors import Array
from serving.engines.exit_network import ExitNetwork
from serving.engines.exits import ExitResult, ExitSet
from serving.engines.groups import GroupRequest
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine

ORACLE = MIDDLE.name
BATCHES = (1, 4)
SAMPLES = 300


class ShadowLook(NamedTuple):
    """One batch of looks, in the shadow and by the whole network."""

    cuts: int
    batch: int
    shadow: Callable[[], object]
    whole: Callable[[], object]


def looks() -> Iterator[ShadowLook]:
    """At one cut, the later one, and at two."""
    entry, rng = Catalogue([ready(MIDDLE, DEAR)]).find(ORACLE), np.random.default_rng(0)
    model = read_weights(entry.path, entry.card)
    whole = EngineNetwork(ORACLE, model, OnnxRuntimeEngine(ORACLE, threads=1))
    places = exit_places(entry)
    for cuts in (places[-1:], places):
        network, exits = cut_network(ORACLE, model, [cut.tensor for cut in cuts]), _exits(entry, cuts)
        for count in BATCHES:
            batch = rng.random((count, *entry.card.input.item_shape), np.float32)
            shadow = partial(_heard, network, exits, cuts, batch)
            yield ShadowLook(len(cuts), count, shadow, partial(whole.run, batch))


def _heard(network: ExitNetwork, exits: ExitsInUse, cuts: Sequence[ExitCut], batch: Array) -> object:
    outputs = network.run([GroupRequest(ORACLE, batch)], len(batch))[0]
    return exits.answers(ExitResult.of(outputs).taps, [cut.tensor for cut in cuts])


def _exits(entry: Entry, cuts: Sequence[ExitCut]) -> ExitsInUse:
    """Exits of the form that nodes have; they learnt from noise, and are sure of about half."""
    rng, words = np.random.default_rng(1), Vocabulary(len(entry.card.classes), entry.card.min_confidence)
    shares = rng.dirichlet(np.full(words.labels, 0.1), SAMPLES).astype(np.float32)
    taps = [rng.random((SAMPLES, cut.values), np.float32) for cut in cuts]
    rows = ExitRows(taps, shares, words.of(shares), np.ones(SAMPLES, np.float32))
    found = fit(ORACLE, entry.card.identity, ExitsSpec(tuple(cuts), words, 0.9), rows).exits
    sure = [each.at(float(np.median(each.words(tap).errors))) for each, tap in zip(found, taps, strict=True)]
    return ExitsInUse(1, ExitSet({each.tensor: each for each in sure}, words.labels), (), 0.0, 0, b"")
