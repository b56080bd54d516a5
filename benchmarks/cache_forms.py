"""The paper's forms of learned caches on whole activations of a ResNet-18 (GATI: Balasubramanian et al., 2021).

CIFAR-10 test images; caches are learnt from one part, all figures are those of the other. The product's own caches read
activations that were pooled to a small grid; these read all values, as in the paper, in PyTorch on one thread. Blocks
are those of eight whose outputs have the size that the paper's memory says: 65,536 values for its block 3, 32,768 for
its block 6. Parts:

- ``distance``: caches that keep what they saw, at block 2 (Table 1); ``accuracy``: of the nearest one's word
- ``form``: a predictor with a selector (Tables 3 and 4), trained by distillation or on the network's word alone
- ``composed``: which caches to build, by the programme and by others, at 97 % of all inputs (Appendix A.2.1)
- ``batch``: two inputs that wait for each other (§7.2.1), reckoned from measured times
- ``adapted``: a stream of three classes in dim, blurred pictures, before and after training anew (Table 7)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from benchmarks.cache_forms_parts.adapted import adapted, stream
from benchmarks.cache_forms_parts.blocks import Blocks
from benchmarks.cache_forms_parts.caches import FORMS, TrainedCache, explored
from benchmarks.cache_forms_parts.composed import Composition, in_pairs, replayed, ways
from benchmarks.cache_forms_parts.distance import distances
from benchmarks.cache_forms_parts.forms import CONV, FC, POOL, Loss
from benchmarks.caches_images_parts.cases import archive, decoded
from benchmarks.harness import Outcome, Row, run
from serving.common.tensors import Array

LEARNT, UNSEEN, STREAM = 3000, 3000, 3000
"""Images of each part; the stream shows those of the last that are of its classes."""
QUICK = 20
"""A quick run takes so much less."""
BLOCKS, QUICK_BLOCKS = (1, 2, 4, 6), (2, 4)
DISTANCE_AT = 2
LOSSES: tuple[Loss, ...] = ("distilled", "hard")
COLUMNS = (
    *("part", "form", "block", "loss", "when", "operations_m", "accuracy", "agreement", "hit_rate"),
    *("lookup_ms", "memory_mb", "mean_ms", "whole_ms", "chosen"),
)


def measure(quick: bool) -> Outcome:
    """All parts."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        rows = [_whole(row) for row in _rows(quick)]
    return Outcome(rows, headline(rows), partial(_draw, rows))


def headline(rows: Sequence[Row]) -> dict[str, Any]:
    """Milliseconds of the network and of each choice; hit rates by form and block; before and after."""
    found: dict[str, Any] = {}
    for row in rows:
        if row["part"] in ("composed", "batch"):
            found[f"{row['form']} {row['loss']}".strip()] = (row["mean_ms"], row["accuracy"])
        elif row["part"] == "form" and row["loss"] == "distilled":
            found[f"{row['form']} {row['block']}"] = (row["hit_rate"], row["lookup_ms"])
        elif row["part"] == "adapted":
            found[f"{row['when']} {row['block']}"] = (row["accuracy"], row["hit_rate"])
    return found


def _rows(quick: bool) -> Iterator[Row]:
    blocks, less = (QUICK_BLOCKS, QUICK) if quick else (BLOCKS, 1)
    jpegs, labels = archive()
    items = _items(jpegs, (LEARNT + UNSEEN) // less)
    network = Blocks()
    _say("the network")
    one_s, two_s = network.until_s(1), network.until_s(2)
    learnt = network.outputs(items[: LEARNT // less], blocks)
    unseen = network.outputs(items[LEARNT // less :], blocks)
    _say("caches that keep what they saw")
    at = DISTANCE_AT
    for row in distances(learnt.features[at], learnt.words, unseen.features[at], unseen.words):
        yield {"part": "distance", "block": at, **row}
    made: dict[Loss, list[TrainedCache]] = {}
    for loss in LOSSES:
        made[loss] = [cache for block in blocks for cache in _at(block, loss, learnt, unseen)]
        yield from (_form(cache) for cache in made[loss])
        composed = Composition.of(made[loss], one_s)
        for way, choice in ways(composed):
            if loss == "distilled" or way == "programme":
                yield {"part": "composed", "loss": loss, **replayed(composed, one_s, way, choice)}
            if loss == "distilled" and way == "programme":
                yield from ({"part": "batch", **row} for row in in_pairs(composed, choice, one_s, two_s))
    _say("the stream")
    last = slice(-STREAM // less, None)
    pooling = [each for each in made["distilled"] if each.predictor.form == POOL and each.predictor.block <= 4]
    for row in adapted(network, pooling, stream(jpegs[last], labels[last])):
        yield {"part": "adapted", "loss": "distilled", **row}


def _at(block: int, loss: Loss, learnt: Any, unseen: Any) -> list[TrainedCache]:
    _say(f"block {block}, {loss}")
    # What is as large as the activation of the first block takes minutes to learn, and is worth nothing there.
    return explored([block], FORMS if block > 1 else FORMS[1:], loss, learnt, unseen)


def _items(jpegs: Sequence[Array], count: int) -> Array:
    return decoded(jpegs[: LEARNT + UNSEEN][:count])


def _form(cache: TrainedCache) -> Row:
    threshold, predictor = cache.threshold(), cache.predictor
    return {
        "part": "form",
        "form": predictor.form,
        "block": predictor.block,
        "loss": cache.loss,
        "operations_m": predictor.operations_m,
        "memory_mb": predictor.memory_mb,
        "accuracy": cache.unseen.accuracy(threshold),
        "hit_rate": cache.unseen.share(threshold),
        "lookup_ms": 1e3 * cache.lookup_s,
    }


def _whole(row: Row) -> Row:
    """With all columns, in four digits that count."""
    return {key: float(f"{row[key]:.4g}") if isinstance(row.get(key), float) else row.get(key, "") for key in COLUMNS}


def _draw(rows: Sequence[Row], figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    for form in (FC, POOL, CONV):
        mine = [r for r in rows if (r["part"], r["form"], r["loss"]) == ("form", form, "distilled")]
        left.plot([r["block"] for r in mine], [r["hit_rate"] for r in mine], "o-", label=form)
    left.set(xlabel="block", ylabel="hit rate at 97 %", title="forms of predictors")
    left.legend()
    choices = [r for r in rows if r["part"] == "composed"]
    names = [f"{r['form']} {'hard' if r['loss'] == 'hard' else ''}" for r in choices]
    right.barh(names, [r["mean_ms"] for r in choices])
    right.axvline(choices[0]["whole_ms"], color="grey", linewidth=0.8)
    right.invert_yaxis()
    right.set(xlabel="mean ms; the line: without caches", title="choices of caches")


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run("cache_forms", measure, __doc__ or "")
