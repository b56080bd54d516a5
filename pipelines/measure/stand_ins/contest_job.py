"""The job of holding a contest, and the process that does it: ``python -m pipelines.measure.stand_ins.contest_job``."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from cache_adapt.learned.vocabulary import Vocabulary
from operators.detect.agreement import UNSURE, same_objects
from operators.recognise.classifier import probabilities
from operators.wire.result import UNKNOWN
from pipelines.measure.stand_ins.shown import LEAST_ITEMS, ShownItems
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import Catalogue, Entry
from serving.common.child_job import do_job
from serving.common.tensors import Array
from serving.errors import ModelError, SluiceError
from serving.graphs.surgery.sizes import Size
from serving.profiling.agreement import AGREE, Agree, Shares
from serving.profiling.contest import ContestItems, held
from serving.variants.artefacts import folder
from serving.variants.contest import MOST, Contest, store
from serving.variants.variant import parse

CHILD = "pipelines.measure.stand_ins.contest_job"
NAME = "the process that compares variants"
LOCK = "contest.lock"


class ContestJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Compare variants of a network on what it was shown."""

    model: str
    directories: tuple[str, ...]
    """Where the catalogue looks for models."""
    artefacts_dir: str
    variants: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=MOST)]
    kind: Literal["<f2", "|u1"]
    """The type of the pictures' numbers."""
    shape: Annotated[tuple[int, ...], msgspec.Meta(min_length=4, max_length=4)]
    """N × …: the shape of all pictures together."""
    pictures: bytes

    @classmethod
    def of(
        cls, known: Catalogue, artefacts_dir: Path, variants: Sequence[str], items: Sequence[NDArray[Any]]
    ) -> ContestJob:
        """The job for these items; at least one variant, all of one network."""
        stacked = np.stack(items)
        return cls(
            model=parse(variants[0]).model,
            directories=tuple(str(each) for each in known.directories),
            artefacts_dir=str(artefacts_dir),
            variants=tuple(variants),
            kind="|u1" if stacked.dtype == np.uint8 else "<f2",
            shape=stacked.shape,
            pictures=stacked.tobytes(),
        )

    def result(self) -> bytes:
        """Hold it, and encode what came of it."""
        return msgspec.json.encode(self.held())

    def held(self) -> Contest:
        """Hold the contest; SluiceError where nothing comes of it."""
        entry = Catalogue([Path(each) for each in self.directories]).find(self.model)
        kept, wanted = np.dtype(self.kind), np.dtype(entry.card.input.dtype)
        if len(self.pictures) != kept.itemsize * int(np.prod(self.shape)):
            raise ModelError(f"{len(self.pictures)} bytes are not pictures of {self.shape}")
        items = np.frombuffer(self.pictures, kept).reshape(self.shape).astype(wanted)
        card = _on(entry.card, self.shape)
        shape = None if card.input == entry.card.input else Size(card.input.width, card.input.height)
        artefacts_dir = Path(self.artefacts_dir)
        stage = ContestItems(entry, items, shape, _agree(card), artefacts_dir)
        with alone(folder(artefacts_dir, entry)):
            return held(stage, [parse(each) for each in self.variants])


def held_on(known: Catalogue, entry: Entry, shown: ShownItems, artefacts_dir: Path) -> Contest:
    """The contest of a network's candidates, held in this process and kept for all runs; SluiceError where none is."""
    from pipelines.measure.stand_ins.roles import candidates  # brings queries, which the process of a job does without

    if not shown.is_shown:
        raise SluiceError(f"{len(shown.items)} pictures were looked at, {LEAST_ITEMS} are the least")
    if not (variants := [each.id for each in candidates(entry)]):
        raise SluiceError("this machine has none")
    found = ContestJob.of(known, artefacts_dir, variants, shown.items).held()
    store(found, entry, artefacts_dir)
    return found


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """While this lasts, no other process compares variants of the same network; SluiceError where one does.

    Where nothing can be written, nothing can be built either, and nobody has to wait.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = (directory / LOCK).open("wb")
    except OSError:
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SluiceError("another process compares them") from None
        yield


def _on(card: ModelCard, shape: Sequence[int]) -> ModelCard:
    """The card with the input that pictures of this shape fit."""
    height, width = shape[2:] if card.input.layout == "nchw" else shape[1:3]
    return card.model_copy(update={"input": card.input.model_copy(update={"width": width, "height": height})})


def _agree(card: ModelCard) -> Agree:
    if card.decoding is not None:
        return same_objects(card, sure=card.decoding.min_score + UNSURE)
    named = [number for number, label in enumerate(card.classes) if label != UNKNOWN]
    return AGREE[card.task] if card.task != "classify" or len(named) < 2 else partial(_same_words, card, named)


def _same_words(card: ModelCard, named: Sequence[int], reference: Sequence[Array], found: Sequence[Array]) -> Shares:
    """Whether both say the same word of an item: a class, or that nothing is sure enough, as audits count it."""
    nameless = tuple(place for place, number in enumerate(named) if card.classes[number] == card.other_label)
    vocabulary = Vocabulary(len(named), card.min_confidence, nameless)
    one, other = (vocabulary.of(probabilities(card, outputs[0])[:, named]) for outputs in (reference, found))
    return np.asarray(one == other, np.float64)


if __name__ == "__main__":
    do_job(ContestJob)
