"""Opening networks: from names in the catalogue to groups on the device."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Entry, read_weights, verify
from serving.common.explain import first_line
from serving.common.tensors import Array
from serving.engines.engine import Engine
from serving.engines.groups import Group, GroupRequest, NetworkGroup
from serving.engines.network import EngineNetwork
from serving.errors import ModelError, SluiceError
from serving.loading.rewriting import rewritten
from serving.loading.thread_choice import chosen
from serving.variants.artefacts import ResolvedModel
from serving.variants.variant import Variant, reference

if TYPE_CHECKING:
    import onnx

    from serving.engines.exit_network import ExitNetwork

log = logging.getLogger(__name__)

WORTH_SHARING = 0.3
"""The least share of a network's multiply-adds that must be common for it to be run in two pieces."""
TOLD_SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""The first prefix with each of these shares is told to others: networks of one group have half of their work in
common, and so differ little."""
DIGEST_CHARS = 16
ROUNDING = 0.1
"""By which share of its largest number an output may differ between batches: in few bits it is rounded by the batch."""


def open_group(sources: Sequence[ResolvedModel], threads: int) -> Group:
    """Load a network, or several that have a prefix in common; raises ModelError."""
    models = [_graph(source) for source in sources]
    if sources[0].cuts is not None:
        return _cut(sources[0], sources[0].cuts, models[0], threads)
    if len(sources) == 1:
        return NetworkGroup(_whole(sources[0], models[0], threads))
    return _shared(sources, models, threads)


def partners(new: ResolvedModel, groups: Sequence[Sequence[ResolvedModel]]) -> Sequence[ResolvedModel]:
    """The members of the first group whose networks begin as the new one does; empty where there is none."""
    for members in groups:
        if all(new.could_share(member) for member in members) and _shares(new, members):
            return members
    return ()


def _shares(new: ResolvedModel, members: Sequence[ResolvedModel]) -> bool:
    try:
        return _worthwhile_prefix([_graph(source) for source in (*members, new)]) is not None
    except Exception as error:  # a graph may be odd in any way, and a file another one since it was loaded
        log.info("%s is not compared with %s: %s", new.name, members[0].name, first_line(error))
        return False


def prefix_shares(source: ResolvedModel) -> dict[str, float]:
    """Digests of what a network computes first, and how it is run, with their shares of its work; raises ModelError.

    Networks of one process that have one in common are run in two pieces (``partners``); shortest first, a few of all.
    """
    from serving.graphs.prefix import prefixes

    if source.cuts is not None:
        return {}
    found = prefixes(_graph(source))
    first = (next((each for each in found if each[1] >= share), None) for share in TOLD_SHARES)
    how = f"{source.card.input.model_dump_json()} {source.variant.engine} {source.variant.precision}".encode()
    return {sha256(digest + how).hexdigest()[:DIGEST_CHARS]: share for digest, share in filter(None, first)}


def open_model(entry: Entry, threads: int) -> EngineNetwork:
    """Verify and open a model as it is, in the default engine; raises ModelError."""
    source = ResolvedModel(entry.card.name, entry, reference(entry.card.name), entry.path)
    return _whole(source, _graph(source), threads)


def engine_for(variant: Variant, threads: int) -> Engine:
    """An engine that runs a variant; ModelError where it is not installed."""
    if variant.engine == "openvino":
        from serving.engines.openvino import OpenVinoEngine

        return OpenVinoEngine(variant.model, threads=threads, precision=variant.precision)
    from serving.engines.onnxruntime import OnnxRuntimeEngine  # a process may have all its networks elsewhere

    return OnnxRuntimeEngine(variant.model, threads=threads, precision=variant.precision)


def _graph(source: ResolvedModel) -> onnx.ModelProto:
    """The network as it is run; where it is cut as it was read, since cuts name its tensors."""
    if source.path == source.entry.path:  # built files were verified by their own sum when they were found
        verify(source.entry)
    model = read_weights(source.path, source.whole_card)
    return model if source.cuts is not None else rewritten(model, source)


def _whole(source: ResolvedModel, model: onnx.ModelProto, threads: int) -> EngineNetwork:
    card, threads = source.card, _threads(source, model, threads)
    network = EngineNetwork(card.name, model, engine_for(source.variant, threads), _limit(source))
    network.check(_pictures(card)[:1])
    _try_batch(network, network.run, card)
    return network


def _pictures(card: ModelCard) -> Array:
    """Two that differ, as a network takes them."""
    pictures = np.zeros((2, *card.input.item_shape), np.dtype(card.input.dtype))
    pictures[1] = 1
    return pictures


def _try_batch(network: EngineNetwork | Group, run: Callable[[Array], list[Array]], card: ModelCard) -> None:
    """Have items run one by one where they fail together, or one is answered otherwise beside another.

    Exporters may write the batch of their example into the middle of a graph, or leave in it a normalisation over the
    batch, as training has it.
    """
    if network.batch_limit == 1:
        return
    pictures = _pictures(card)
    try:
        if all(map(_alike, run(pictures[:1]), run(pictures))):
            return
        log.warning("model %r says something else of a picture beside another: they are run one by one", card.name)
    except SluiceError as error:
        log.info("%s: its pictures are run one by one", error)
    network.batch_limit = 1


def _alike(alone: Array, together: Array) -> bool:
    """Whether the first rows are about the same; of outputs as long as there are things to be found nothing is told."""
    slack = ROUNDING * np.abs(np.nan_to_num(alone, posinf=0, neginf=0)).max(initial=0.01)
    return alone.shape[1:] != together.shape[1:] or np.allclose(alone[0], together[0], 0, slack, equal_nan=True)


def _cut(source: ResolvedModel, cuts: Sequence[str], model: onnx.ModelProto, threads: int) -> ExitNetwork:
    """Cut at these tensors; raises ModelError where it cannot be."""
    from serving.engines.exit_network import ExitNetwork
    from serving.engines.onnxruntime import OnnxRuntimeEngine
    from serving.graphs.taps import tap_points, tapped

    card, variant = source.card, source.variant
    if variant.engine != "onnxruntime":
        raise ModelError(f"variant {variant.id!r}: exits need ONNX Runtime")
    engine = OnnxRuntimeEngine(variant.model, threads=_threads(source, model, threads), precision=variant.precision)
    network = ExitNetwork(card.name, tapped(model, tap_points(model, cuts)), cuts, engine, _limit(source))
    network.check(card.name, _pictures(card)[:1])
    _try_batch(network, partial(_answers, network, card.name), card)
    return network


def _answers(group: Group, name: str, batch: Array) -> list[Array]:
    return group.run([GroupRequest(name, batch)], len(batch))[0]


def _threads(source: ResolvedModel, model: onnx.ModelProto, allowed: int) -> int:
    """Those of the allowed that run a network well; with exits as without, since most items pass most of it."""
    open_with = partial(engine_for, source.variant)
    return chosen(source.directory, source.variant, lambda: [model.SerializeToString()], open_with, allowed)


def _limit(source: ResolvedModel) -> int | None:
    limits = [limit for limit in (source.card.max_batch, source.variant.max_batch) if limit is not None]
    return min(limits, default=None)


def _shared(sources: Sequence[ResolvedModel], models: Sequence[onnx.ModelProto], threads: int) -> NetworkGroup:
    from serving.graphs.segments import split

    cuts = _worthwhile_prefix(models)
    assert cuts is not None, "only networks that share a prefix are opened together"
    threads = max(_threads(source, model, threads) for source, model in zip(sources, models, strict=True))
    pieces = [split(model, [cut]) for model, cut in zip(models, cuts, strict=True)]
    names = " + ".join(source.name for source in sources)
    limit = min((limit for source in sources if (limit := _limit(source)) is not None), default=None)
    prefix = EngineNetwork(names, pieces[0][0], engine_for(sources[0].variant, threads), limit)
    suffixes = {
        source.name: EngineNetwork(source.name, suffix, engine_for(source.variant, threads))
        for source, (_, suffix) in zip(sources, pieces, strict=True)
    }
    group = NetworkGroup(prefix, suffixes)
    for source in sources:
        _try_batch(group, partial(_answers, group, source.name), source.card)
    return group


def _worthwhile_prefix(models: Sequence[onnx.ModelProto]) -> Sequence[str] | None:
    """The cut of every model up to which all compute the same, where that is a good part of the work."""
    from serving.graphs.cut_points import all_cut_points
    from serving.graphs.prefix import common_prefix

    cuts = common_prefix(models)
    if cuts is None:
        return None
    shares = (
        next(point.share for point in all_cut_points(model) if point.tensor == cut)
        for model, cut in zip(models, cuts, strict=True)
    )
    return cuts if min(shares) >= WORTH_SHARING else None
