"""The variants of models that have been measured here, to select from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from serving.catalogue.lookup import Entry
from serving.errors import BadInput
from serving.selection.records import record_of
from serving.selection.table import VariantRecord
from serving.variants.artefacts import folder
from serving.variants.profiles import Profile, fingerprint, read
from serving.variants.variant import generate, parse, sizes_of

Quality = Literal["accuracy", "agreement"]


def profiles_of(entry: Entry, artefacts_dir: Path) -> list[Profile]:
    """Those of a model's variants that still hold on this machine; raises BadInput where there is none."""
    variants = generate(entry.card.name, sizes=sizes_of(entry.card))
    found = (read(folder(artefacts_dir, entry), variant) for variant in variants)
    known = [each for each in found if each is not None]
    fresh = [each for each in known if not each.stale(entry.card.sha256, fingerprint(parse(each.variant).engine))]
    if not fresh:
        state = "the profiles of {} are stale" if known else "{} has not been measured here"
        name = entry.card.name
        raise BadInput(f"{state.format(repr(name))}: run 'sluice models profile {name}' first")
    return fresh


def records(entries: Sequence[Entry], artefacts_dir: Path, batch: int) -> tuple[list[VariantRecord], Quality]:
    """All measured variants of the models, and what their ``accuracy`` is.

    Several models can only be compared by the accuracy on the same labelled pictures; the variants of one also by their
    agreement with it. BadInput where that was not measured.
    """
    profiles = [profile for entry in entries for profile in profiles_of(entry, artefacts_dir)]
    rights = [profile.accuracy for profile in profiles if profile.accuracy is not None]
    if len(rights) == len(profiles) and len({profile.data_sha256 for profile in profiles}) == 1:
        pairs = zip(profiles, rights, strict=True)
        return [replace(record_of(profile, batch), accuracy=right) for profile, right in pairs], "accuracy"
    if len(entries) > 1:
        names = " ".join(entry.card.name for entry in entries)
        raise BadInput(
            "different models can be compared only by their accuracy on the same labelled pictures: "
            f"run 'sluice models profile {names} --data DIR' with one folder of pictures per class"
        )
    return [record_of(profile, batch) for profile in profiles], "agreement"
