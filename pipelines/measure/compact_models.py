"""Which models can be templates of an oracle."""

from __future__ import annotations

from collections.abc import Sequence

from serving.catalogue.lookup import Catalogue, Entry
from serving.errors import BadInput


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
