"""The validation set of a network: the taps and the answers of the pictures that caches were built from, kept in files.

Caches that an adaptation worker trains are trained on these pictures too, and their thresholds have to hold for both
(Balasubramanian et al., 2021 [GATI], §5.3): a camera that has shown two classes for an hour shows others later, and of
these its own looks tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from cache_adapt.caches.store import MOST_CACHES, Digest
from learning.store import FeatureStore, write_store
from operators.recognise.cached.building import CutPlace
from operators.recognise.cached.cache_specs import CutSpec
from operators.wire.adaptation import MOST_DIMS
from serving.catalogue.cards import ModelCard
from serving.common import files as atomic
from serving.common.tensors import Array
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError

MOST_ROWS: Final = 2000
"""As many as one training takes of recent samples."""
CARD, MOST_CARD_BYTES = "card.json", 64 << 10


class ValidationCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The origin of a validation set."""

    schema: Literal["sluice.validation/1"]
    model_identity: Digest
    classes: Annotated[int, Meta(ge=2, le=65536)]
    cuts: Annotated[tuple[CutSpec, ...], Meta(min_length=1, max_length=MOST_CACHES)]
    """In dataflow order; a row has the activations of all, one after the other."""


@dataclass(frozen=True, slots=True)
class ValidationSet:
    """Files that are there."""

    directory: Path
    """A ``FeatureStore``."""
    cuts: tuple[CutSpec, ...]

    @property
    def places(self) -> list[CutPlace]:
        """The places whose taps it holds."""
        return [CutPlace(cut.tensor, cut.grid, cut.share) for cut in self.cuts]

    def is_of(self, places: Sequence[CutPlace]) -> bool:
        """Whether these places are its own."""
        return [(cut.tensor, cut.grid) for cut in self.cuts] == [(cut.tensor, tuple(cut.grid)) for cut in places]


def write(
    directory: Path, card: ModelCard, places: Sequence[CutPlace], taps: Sequence[Array], answers: NDArray[np.intp]
) -> int:
    """Keep at most ``MOST_ROWS`` of N pictures, evenly spread, in place of what is there; returns how many are kept.

    ``card``: the network's; ``taps``: by place, N × values; ``answers``: N, the network's. Nothing is kept where
    samples of so many activations could not be sent. BadInput where the directory cannot be written to.
    """
    with suppress(OSError):  # a place that cannot be written to says so next
        (directory / CARD).unlink(missing_ok=True)
    if sum(tap.shape[1] for tap in taps) > MOST_DIMS:
        return 0
    chosen = np.linspace(0, len(answers) - 1, min(len(answers), MOST_ROWS)).astype(np.intp)
    cuts = tuple(CutSpec(cut.tensor, cut.grid, round(cut.share, 6)) for cut in places)
    write_store(directory, np.concatenate([tap[chosen] for tap in taps], axis=1), answers[chosen])
    about = ValidationCard("sluice.validation/1", card.identity, len(card.classes), cuts)
    atomic.write(directory / CARD, msgspec.json.encode(about))
    return len(chosen)


def read(directory: Path, card: ModelCard) -> ValidationSet | None:
    """The validation set of a network; None where there is none. ModelError where it is damaged, or of another."""
    path = directory / CARD
    try:
        with path.open("rb") as file:
            data = file.read(MOST_CARD_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        about = decode(data, ValidationCard, MOST_CARD_BYTES)
    except Malformed as error:
        raise ModelError(f"{path}: {error}; build the caches again") from None
    if (about.model_identity, about.classes) != (card.identity, len(card.classes)):
        raise ModelError(f"{directory}: of other weights, or another input, than here; build the caches again")
    store = FeatureStore.open(directory)
    values = sum(cut.values for cut in about.cuts)
    if store.features.shape[1] != values or (len(store.labels) and store.labels.max() >= about.classes):
        raise ModelError(f"{directory}: its samples do not fit its card; build the caches again")
    return ValidationSet(directory, about.cuts)
