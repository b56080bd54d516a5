"""``sluice caches build`` without the printing (Balasubramanian et al., 2021 [GATI]: the deployment phase)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from operators.recognise.cached import validation

from cache_adapt.caches import store
from cache_adapt.caches.build import Built, WholeNetwork, build
from cache_adapt.caches.explore import Explored, explore
from cache_adapt.caches.job import lookup_s
from cache_adapt.compose.problem import WORTH
from cache_adapt.compose.rivals import Composition, Rival, alone, planned
from pipelines.measure.cache_files import caches_file, explored_file, validation_folder
from pipelines.measure.cache_places import nearest, places_of
from pipelines.measure.cache_ways import Way, fastest, measured_variants, oracle_way, variant_way
from pipelines.measure.tapped_pictures import OnProgress, prepared, whole_of
from pipelines.measure.template_data import Shown
from serving.catalogue.lookup import Entry
from serving.common import files as atomic
from serving.common.untrusted import decode
from serving.errors import Malformed


class Exploration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state of an exploration, so that an interrupted build goes on."""

    data_sha256: str
    agreement: float
    network: str
    """Digest of what caches were explored in."""
    min_confidence: float
    """The card's, below which there is no word."""
    explored: tuple[Explored, ...]


@dataclass(frozen=True)
class CacheReport:
    """The result of a build."""

    plan: Composition
    """To be run: caches in the model or in a variant of it, a variant, or the model alone."""
    built: Built
    explored: Mapping[str, Sequence[Explored]]
    """By the network that it was explored in."""
    variants: Sequence[Rival]
    """The model first."""
    left_agreement: float
    """Share of the answers that are the model's, among those that the caches leave to the network that they are in."""
    file: Path | None
    """Where the caches were written; None: nothing was built."""
    kept: int = 0
    """So many of the pictures are the model's validation set from now on."""

    @property
    def whole_s(self) -> float:
        return self.variants[0].problem.whole

    @property
    def agreement(self) -> float:
        """Share of all answers that are the model's, those of caches included."""
        built, certified = self.built.caches, self.built.certified
        if built is None or certified is None:
            return self.plan.agreement
        left = 1 - sum(cache.hit_rate for cache in built.card.caches)
        return certified.effect.agreement - left * (1 - self.left_agreement)


@dataclass(frozen=True)
class CacheBuildRequest:
    """The pictures and the target of a build of caches."""

    shown: Shown
    target: float
    """The agreement that is wanted."""
    artefacts_dir: Path
    again: bool = False
    """Explore what was explored on the same pictures before, too."""


def build_caches(entry: Entry, order: CacheBuildRequest, report: OnProgress) -> CacheReport:
    """Explore, compose, build and store; no caches are stored where the model or a variant alone is as fast.

    Raises ModelError for a network that cannot be used, BadInput for pictures or places that cannot.
    """
    ways, others = _ways(entry, order, report)
    found = _best(entry, order, report, ways, others)
    in_model = found.built.caches if found.plan.variant == entry.card.name else None
    return replace(found, kept=_keep(entry, ways[0], in_model))


def _best(
    entry: Entry, order: CacheBuildRequest, report: OnProgress, ways: Sequence[Way], others: Sequence[Rival]
) -> CacheReport:
    explored = {way.name: _explored(entry, way, order, report) for way in ways}
    rivals = [way.rival(explored[way.name], order.target) for way in ways]
    rivals += [each for each in others if each.name not in explored]
    plan = planned(rivals)
    if not plan.choice:
        return CacheReport(plan, Built(None, plan.latency, None), explored, rivals, 1.0, None)
    report("building", 0.9)
    found = {way.name: _built(way, explored[way.name], order.target) for way in ways}
    way = min(ways, key=lambda each: found[each.name].latency_s if found[each.name].caches else float("inf"))
    built, without = found[way.name], alone(rivals)
    if built.caches is None or built.latency_s > (1 - WORTH) * without.latency:
        plan = replace(without, reason="calibrated together, caches do not pay")
        return CacheReport(plan, Built(None, plan.latency, None), explored, rivals, 1.0, None)
    path = caches_file(entry, way.run)
    store.write(path, built.caches)
    reason = f"caches save {1 - built.latency_s / without.latency:.1%} of the latency of {without.variant}"
    plan = replace(plan, variant=way.name, latency=built.latency_s, reason=reason)
    return CacheReport(plan, built, explored, rivals, way.left_agreement(built.caches), path)


def _keep(entry: Entry, oracle: Way, built: store.BuiltCaches | None) -> int:
    """Keep the taps where caches are built into the model, else where those that are made later will be."""
    points = {point.tensor: point for point in whole_of(entry).points}
    chosen = nearest(list(points.values())) if built is None else [points[tensor] for tensor in built.tensors]
    lessons = {cut.tensor: cut.lessons for cut in oracle.tapped.cuts}
    taps = [lessons[point.tensor].features for point in chosen]
    answers = lessons[chosen[0].tensor].answers
    return validation.write(validation_folder(entry), entry.card, places_of(chosen), taps, answers)


def _ways(entry: Entry, order: CacheBuildRequest, report: OnProgress) -> tuple[list[Way], list[Rival]]:
    """The networks that caches are explored in, and all variants that were measured, without caches."""
    network = whole_of(entry)
    items = prepared(entry, order.shown, report)
    oracle = oracle_way(entry, network, items, report)
    where = order.artefacts_dir
    found = measured_variants(entry, network, items, oracle.tapped.answers, where, order.shown.sha256)
    whole = oracle.rival((), order.target).problem
    best = fastest(found, order.target)
    ways = [oracle] if best is None else [oracle, variant_way(entry, best, oracle, items, where, report)]
    return ways, [each.rival(whole) for each in found]


def _built(way: Way, explored: Sequence[Explored], target: float) -> Built:
    """Caches in one network; those in a variant keep more than the target, so that it is kept together with that."""
    network = WholeNetwork(way.name, way.identity, way.tapped.whole_s)
    found = build(network, way.tapped.cuts, explored, way.wanted(target))
    if found.caches is None:
        return found
    card = msgspec.structs.replace(found.caches.card, agreement=target)
    return replace(found, caches=replace(found.caches, card=card))


def _explored(entry: Entry, way: Way, order: CacheBuildRequest, report: OnProgress) -> list[Explored]:
    wanted = way.wanted(order.target)
    about = Exploration(
        order.shown.sha256, wanted.constraint.agreement, way.identity, entry.card.min_confidence, explored=()
    )
    kept = _Notes(explored_file(entry, way.run), about)
    done: list[Explored] = []
    most = len(way.tapped.cuts) * len(wanted.architectures)
    for each in explore(way.tapped.cuts, wanted, lookup_s, () if order.again else kept.read()):
        done.append(each)
        report(f"{each.architecture} at {each.tensor} of {way.name}", len(done) / most)
        kept.write(done)
    return done


@dataclass(frozen=True)
class _Notes:
    """The explored parts of one network for one target on the same pictures, by this build and earlier ones."""

    path: Path
    about: Exploration

    def read(self) -> tuple[Explored, ...]:
        try:
            record = decode(self.path.read_bytes(), Exploration)
        except (OSError, Malformed):
            return ()
        return record.explored if msgspec.structs.replace(record, explored=()) == self.about else ()

    def write(self, explored: Sequence[Explored]) -> None:
        record = msgspec.structs.replace(self.about, explored=tuple(explored))
        atomic.write(self.path, msgspec.json.encode(record))
