"""The gallery recogniser: names an object by the enrolled identity that it resembles.

An embedder turns pictures into directions; two pictures of one face point nearly the same way. An object is the
identity whose nearest picture is the most similar, if similar enough.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.inference import Inference, prepared
from operators.recognise.enrolment import read_picture
from operators.recognise.identities import identities
from operators.recognise.recogniser import Recogniser
from operators.recognise.roles import Roles
from operators.wire.bounds import share
from operators.wire.labels import UNKNOWN
from operators.wire.schema import Attribute
from serving import preprocess
from serving.catalogue.cards import ModelCard
from serving.common.tensors import Image
from serving.scheduling.urgency import Urgency

CHUNK = 16
"""Number of pictures that are decoded and embedded at once while enrolling."""
SPREAD = 0.05
"""How far the similarity of one face differs between pictures; .1 above the least accepted an answer is .88 certain."""


@dataclass(frozen=True, slots=True)
class Gallery:
    """One unit vector per enrolled picture, and whose picture it is."""

    names: tuple[str, ...]
    vectors: NDArray[np.float32]

    def match(self, vectors: NDArray[np.float32]) -> list[tuple[str, float]]:
        """For each unit vector the identity of the nearest picture and the cosine to it, −1…1."""
        similarity = vectors @ self.vectors.T
        nearest = similarity.argmax(axis=1)
        return [(self.names[column], float(row[column])) for row, column in zip(similarity, nearest, strict=True)]


class GalleryRecogniser(Recogniser):
    """Gives each region the name of an enrolled identity or ``unknown``."""

    def __init__(
        self,
        engine: Inference,
        roles: Roles,
        attribute: str,
        gallery: Path,
        *,
        min_similarity: float | None = None,
        margin: float | None = None,
    ) -> None:
        """None: the card's. Raises ModelError for an unknown model, BadInput for a gallery that cannot be used."""
        super().__init__(engine, roles, attribute, margin, "embed")
        self._min_similarity = min_similarity
        self._pictures = identities(gallery)
        self._galleries: dict[str, Gallery] = {}

    async def prepare(self) -> None:
        """Load the models and enrol every picture with each; ModelError or BadInput where one cannot be used."""
        for model in self.roles.models:
            self._galleries[model] = await enrol(self._engine, model, self._pictures)

    async def name(self, model: str, crops: Sequence[Image], urgency: Urgency) -> list[Attribute]:
        """The enrolled identity that each crop is most similar to."""
        if model not in self._galleries:
            self._galleries[model] = await enrol(self._engine, model, self._pictures)
        batch, _ = await prepared(self._engine.card(model).input, crops)
        (vectors, *_) = await self._engine.infer(model, batch, urgency)
        return [self._answer(model, *match) for match in self._galleries[model].match(unit(vectors))]

    def labels(self, model: str) -> tuple[str, ...]:
        """Return the identities, and ``unknown``."""
        return tuple(dict.fromkeys((*self._pictures, UNKNOWN)))

    def certainty(self, look: Attribute) -> float:
        """Return a logistic function of the distance from the least similarity that is accepted: ½ at that."""
        return 1 / (1 + math.exp(-abs(look.confidence - self._least(self.roles.oracle)) / SPREAD))

    def pooled_confidence(self, posterior: float, mean: float) -> float:
        """Return the mean similarity: a gallery's confidence is a cosine, not a probability."""
        return share(mean)

    def _least(self, model: str) -> float:
        return self._engine.card(model).min_similarity if self._min_similarity is None else self._min_similarity

    def _answer(self, model: str, name: str, similarity: float) -> Attribute:
        return self._attribute_of(
            model, name if similarity >= self._least(model) else UNKNOWN, min(max(similarity, 0.0), 1.0)
        )


async def enrol(engine: Inference, model: str, pictures: Mapping[str, Sequence[Path]]) -> Gallery:
    """Embed every picture; raises BadInput for one that cannot be read."""
    flat = [(name, path) for name, paths in pictures.items() for path in paths]
    card, vectors = engine.card(model), []
    for start in range(0, len(flat), CHUNK):
        paths = [path for _, path in flat[start : start + CHUNK]]
        batch = await asyncio.to_thread(_batch, card, paths)
        vectors.append(unit((await engine.infer(model, batch, Urgency(math.inf)))[0]))
    return Gallery(tuple(name for name, _ in flat), np.concatenate(vectors))


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Scale N × D rows to length 1; a row of zeros stays zero, similar to nothing."""
    rows = vectors.reshape(len(vectors), -1).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def _batch(card: ModelCard, paths: Sequence[Path]) -> NDArray[Any]:
    return preprocess.batch(card.input, [read_picture(path) for path in paths])[0]
