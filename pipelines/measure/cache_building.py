"""``sluice caches build`` without the printing (Balasubramanian et al., 2021 [GATI]: the deployment phase)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from cache_adapt.caches import store
from cache_adapt.caches.build import Built, Network, build
from cache_adapt.caches.explore import Explored, Wanted, explore, problem
from cache_adapt.caches.job import lookup_s
from cache_adapt.compose.problem import Problem
from cache_adapt.compose.rivals import Plan, Variant, planned
from cache_adapt.exits.certify import Constraint, upper_bound
from pipelines.measure.cache_files import EXPLORED, caches_file
from pipelines.measure.tapped_pictures import OnProgress, Tapped, graph_of, item_s, tapped_pictures
from pipelines.measure.template_data import Shown
from serving.catalogue.graph_file import read_weights
from serving.catalogue.lookup import Entry
from serving.common import files as atomic
from serving.common.untrusted import decode
from serving.engines.network import EngineNetwork
from serving.engines.onnxruntime import OnnxRuntimeEngine
from serving.errors import Malformed, ModelError
from serving.variants.artefacts import Calibration, folder
from serving.variants.artefacts import build as build_variant
from serving.variants.variant import Variant as WayToRun

CALIBRATION = 200
"""Pictures on which an int8 variant is calibrated; it is compared on the others."""


class Exploration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was explored so far, so that an interrupted build goes on."""

    data_sha256: str
    agreement: float
    explored: tuple[Explored, ...]


@dataclass(frozen=True)
class CacheReport:
    """What a build found."""

    plan: Plan
    """What to run: caches in the model, a variant of it, or the model alone."""
    built: Built
    explored: Sequence[Explored]
    variants: Sequence[Variant]
    whole_s: float
    file: Path | None
    """Where the caches were written; None: nothing was built."""


@dataclass(frozen=True)
class Order:
    """What caches are built from, and for what."""

    shown: Shown
    target: float
    """The agreement that is wanted."""
    artefacts_dir: Path
    again: bool = False
    """Explore what was explored on the same pictures before, too."""


def build_caches(entry: Entry, order: Order, report: OnProgress) -> CacheReport:
    """Explore, compose, build and store; nothing is stored where a variant alone is as fast.

    Raises ModelError for a network that cannot be used, BadInput for pictures or places that cannot.
    """
    shown, artefacts_dir = order.shown, order.artefacts_dir
    found = tapped_pictures(entry, shown, report)
    wanted = Wanted(Constraint(order.target, "answers"))
    notes = folder(artefacts_dir, entry) / EXPLORED
    kept = _Notes(notes, shown.sha256, order.target)
    explored = _explored(found, wanted, () if order.again else kept.read(), kept, report)
    whole = problem(found.cuts, found.whole_s, explored, wanted)
    variants = [Variant(entry.card.name, 1.0, whole), *_int8(entry, found, whole, artefacts_dir, shown)]
    plan = planned(variants)
    network = Network(entry.card.name, entry.card.identity, found.whole_s)
    built = Built(None, found.whole_s, None)
    if plan.variant == entry.card.name and plan.choice:
        report("building", 0.9)
        built = build(network, found.cuts, explored, wanted)
        if built.caches is None:
            plan = replace(plan, choice=(), latency=found.whole_s, reason="calibrated together, caches do not pay")
    path = None
    if built.caches is not None:
        path = caches_file(entry)
        store.write(path, built.caches)
    return CacheReport(plan, built, explored, variants, found.whole_s, path)


def _explored(
    found: Tapped, wanted: Wanted, known: Sequence[Explored], notes: _Notes, report: OnProgress
) -> list[Explored]:
    done: list[Explored] = []
    most = len(found.cuts) * len(wanted.architectures)
    for each in explore(found.cuts, wanted, lookup_s, known):
        done.append(each)
        report(f"{each.architecture} at {each.tensor}", len(done) / most)
        notes.write(done)
    return done


@dataclass(frozen=True)
class _Notes:
    """What was explored for one target on the same pictures, by this build and earlier ones."""

    path: Path
    data_sha256: str
    target: float

    def read(self) -> tuple[Explored, ...]:
        """What there is."""
        try:
            record = decode(self.path.read_bytes(), Exploration)
        except (OSError, Malformed):
            return ()
        return record.explored if (record.data_sha256, record.agreement) == (self.data_sha256, self.target) else ()

    def write(self, explored: Sequence[Explored]) -> None:
        """Keep this in place of what there was."""
        record = Exploration(self.data_sha256, self.target, tuple(explored))
        atomic.write(self.path, msgspec.json.encode(record))


def _int8(entry: Entry, found: Tapped, whole: Problem, artefacts_dir: Path, shown: Shown) -> list[Variant]:
    """The whole network in int8, measured in turns with itself; nothing where it cannot be quantised."""
    name = entry.card.name
    variant = WayToRun(name, "onnxruntime", "int8")
    try:
        path = build_variant(entry, variant, artefacts_dir, Calibration(found.items[:CALIBRATION], shown.sha256))
        engine = OnnxRuntimeEngine(name, threads=1, precision="int8")
        quick = EngineNetwork(name, read_weights(path, entry.card), engine)
    except ModelError:
        return []
    full = EngineNetwork(name, graph_of(entry), OnnxRuntimeEngine(name, threads=1))
    item = found.items[:1]
    took = item_s({"full": partial(full.run, item), "quick": partial(quick.run, item)})
    rest = found.items[CALIBRATION:] if len(found.items) > 2 * CALIBRATION else found.items
    said = np.array([quick.run(rest[at : at + 1])[0].reshape(-1).argmax() for at in range(len(rest))])
    wrong = int((said != found.answers[-len(rest) :]).sum())
    for each in (quick, full):
        each.close()
    scale = took["quick"] / took["full"]
    layers = [seconds * scale for seconds in whole.layers]
    return [Variant(variant.id, 1 - upper_bound(wrong, len(rest)), replace(whole, layers=layers, caches=()))]
