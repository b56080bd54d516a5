"""``sluice specialize profile``, without the printing: templates for an oracle, their training set and their rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from learning.store import FeatureStore
from pipelines.measure.template_data import Shown
from serving.catalogue.lookup import Catalogue, Entry
from serving.common.threads import usable_cores
from serving.errors import BadInput, ModelError
from specialization.templates.cost import latency_shares
from specialization.templates.derive import compact, derived
from specialization.templates.fill import PictureSource, fill, forward
from specialization.templates.stored import StoredTemplate, open_template, write_manifest

OnProgress = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, 0 … 1."""


@dataclass(frozen=True)
class TemplateRequest:
    """The pictures from which templates are made, and where."""

    shown: Shown
    directory: Path
    again: bool = False
    """Also those that were made from the same pictures before."""


def make(oracle: Entry, compacts: Sequence[Entry], wanted: TemplateRequest, report: OnProgress) -> list[StoredTemplate]:
    """Templates of compact networks, and of the oracle cut early where that is possible, with stores and rates.

    ModelError for networks that cannot be cut or opened, BadInput for pictures that cannot be used, TooFewSamples for
    too few.
    """
    directory, shown = wanted.directory, wanted.shown
    templates = [compact(oracle, each, directory) for each in compacts]
    try:
        templates.append(derived(oracle, directory))
    except ModelError:  # some networks have no place to cut them early
        if not templates:
            raise
    stale = [
        each for each in templates if wanted.again or each.manifest.data_sha256 != shown.sha256 or not _whole(each)
    ]
    if stale:
        _fill(oracle, stale, shown, report)
    report("latency", 0.0)
    shares = latency_shares(oracle, templates, usable_cores())
    for each in map(_reopened, templates):
        write_manifest(each.directory, structs.replace(each.manifest, cost=shares[each.name], cost_is="latency"))
    return list(map(_reopened, templates))


def _fill(oracle: Entry, templates: Sequence[StoredTemplate], shown: Shown, report: OnProgress) -> None:
    seen = forward(
        oracle, templates, shown, usable_cores(), lambda count: report("pictures", min(count / len(shown), 1.0))
    )
    for each in templates:
        what = f"heads of {each.name}"
        data = PictureSource(shown.words, shown.sha256)
        fill(each, seen.features[each.name], seen.labels, data, lambda share, what=what: report(what, share))  # type: ignore[misc]


def _reopened(template: StoredTemplate) -> StoredTemplate:
    return open_template(template.directory)


def _whole(template: StoredTemplate) -> bool:
    try:
        FeatureStore.open(template.directory)
    except ModelError:
        return False
    return True


def compact_models(oracle: Entry, catalogue: Catalogue, names: Sequence[str]) -> list[Entry]:
    """The named models, or all of tier ``compact``; raises BadInput where one has other classes than the oracle."""
    if oracle.card.task != "classify":
        raise BadInput(f"model {oracle.card.name!r} is for the task {oracle.card.task}: templates are for classifiers")
    if not names:
        known = (catalogue.find(name) for name in catalogue.names() if name != oracle.card.name)
        return [each for each in known if each.card.tier == "compact" and _alike(each, oracle)]
    entries = [catalogue.find(name) for name in dict.fromkeys(names)]
    for entry in entries:
        if not _alike(entry, oracle):
            raise BadInput(f"--template {entry.card.name}: not a classifier of the classes of {oracle.card.name!r}")
    return entries


def _alike(entry: Entry, oracle: Entry) -> bool:
    return entry.card.task == "classify" and set(entry.card.classes) == set(oracle.card.classes)
