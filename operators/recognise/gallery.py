"""The gallery recogniser: names an object by the enrolled identity that it resembles.

An embedder turns pictures into directions; two pictures of one face point nearly the same way. An object is the
identity whose nearest picture is the most similar, if similar enough.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.audits.roles import Roles
from operators.inference import Inference, outputs_of
from operators.recognise.enrolment import KeptVectors, picture_key, read_picture
from operators.recognise.identities import identities
from operators.recognise.portraits import FromAfar, Portrait, PortraitFinder, WholePicture
from operators.recognise.recogniser import Recogniser
from operators.wire.bounds import share
from operators.wire.result import UNKNOWN
from operators.wire.schema import Attribute, Provenance
from serving.common.tensors import Array, Image, numbers
from serving.scheduling.requests import Urgency

log = logging.getLogger(__name__)

CHUNK = 16
"""Number of pictures that are embedded at once while enrolling."""
SAME = 1e-3
"""How far the numbers of a vector may be from those that were kept: engines round in their own ways."""
CERTAIN = 1e-4
"""Nothing is less certain, or more, in shares that exits give."""
SPREAD = 0.05
"""How far the similarity of one face differs between pictures; .1 above the least accepted an answer is .88 certain."""


@dataclass(frozen=True, slots=True)
class Gallery:
    """One unit vector per enrolled picture, and whose picture it is."""

    names: tuple[str, ...]
    paths: tuple[Path, ...]
    vectors: NDArray[np.float32]

    def match(self, vectors: NDArray[np.float32]) -> list[tuple[str, float]]:
        """For each unit vector the identity of the nearest picture and the cosine to it, −1…1."""
        similarity = vectors @ self.vectors.T
        nearest = similarity.argmax(axis=1)
        return [(self.names[column], float(row[column])) for row, column in zip(similarity, nearest, strict=True)]


class GalleryRecogniser(Recogniser):
    """Gives each region the name of an enrolled identity or ``unknown``."""

    names_by_look = True

    def __init__(
        self,
        engine: Inference,
        roles: Roles,
        attribute: str,
        gallery: Path,
        *,
        min_similarity: float | None = None,
        margin: float | None = None,
        finder: PortraitFinder | None = None,
        kept: Callable[[str], KeptVectors | None] = lambda model: None,
    ) -> None:
        """None: the card's; without ``finder`` pictures are enrolled whole. ``kept``: where a model's vectors are kept.

        Raises ModelError for an unknown model, BadInput for a gallery that cannot be used.
        """
        super().__init__(engine, roles, attribute, margin, "embed")
        self._min_similarity = min_similarity
        self._pictures = identities(gallery)
        self._finder, self._kept = finder or WholePicture(), kept
        self._portraits: dict[Path, Portrait] = {}
        self._galleries: dict[str, Gallery] = {}

    async def prepare(self) -> None:
        """Load the models and enrol every picture with each; ModelError or BadInput where one cannot be used."""
        for model in self.roles.models:
            await self.gallery(model)

    async def said(self, model: str, output: Array) -> list[Attribute]:
        """The enrolled identity that each row is most similar to."""
        gallery = await self.gallery(model)
        return [self._answer(model, *match) for match in gallery.match(unit(numbers(model, output)))]

    @property
    def least_share(self) -> float:
        """A look is certain by half where it is as similar as is accepted at least."""
        return 0.5

    def shares(self, model: str, output: Array) -> NDArray[np.float32]:
        """How certain a look is of the identity that it resembles most; it says nothing of the others."""
        names = self.names
        found = np.zeros((len(output), len(names)), np.float32)
        rows = unit(numbers(model, output))
        for row, (name, similarity) in zip(found, self._galleries[model].match(rows), strict=True):
            if name in names:
                row[names.index(name)] = 1 / (1 + math.exp(-(similarity - self.least(model)) / SPREAD))
        return found

    def exit_answer(self, shares: NDArray[np.float32], kind: Provenance, number: int, place: int) -> Attribute:
        """See ``Recogniser``; its confidence is a similarity again."""
        look = super().exit_answer(shares, kind, number, place)
        certain = min(max(look.confidence, CERTAIN), 1 - CERTAIN)
        similarity = self.least(self.roles.oracle) + SPREAD * math.log(certain / (1 - certain))
        label = look.label if certain >= self.least_share else UNKNOWN
        return msgspec.structs.replace(look, label=label, confidence=share(similarity))

    async def gallery(self, model: str) -> Gallery:
        """The gallery as a model sees it, enrolled when it is first asked for; BadInput where that fails."""
        if model not in self._galleries:
            self._galleries[model] = await self._enrolled(model)
        return self._galleries[model]

    def pictures(self) -> list[tuple[str, Path]]:
        return [(name, path) for name, paths in self._pictures.items() for path in paths]

    async def portrait(self, path: Path) -> Portrait:
        """The enrolled part of a picture; BadInput where it cannot be read or shows nothing to recognise."""
        if path not in self._portraits:
            picture = await asyncio.to_thread(read_picture, path)
            self._portraits[path] = await self._finder.find(path, picture)
        return self._portraits[path]

    async def farther(self, path: Path) -> FromAfar | None:
        """A picture's object as it is seen a little farther away; None where it is not found then."""
        return self._finder.farther(await self.portrait(path), await asyncio.to_thread(read_picture, path))

    async def embed(self, model: str, crops: Sequence[Image], urgency: Urgency) -> NDArray[np.float32]:
        """Unit vectors of crops, one row each."""
        (vectors, *_) = await outputs_of(self._engine, model, crops, urgency)
        return unit(numbers(model, vectors))

    def labels(self, model: str) -> tuple[str, ...]:
        """Return the identities, and ``unknown``."""
        return tuple(dict.fromkeys((*self._pictures, UNKNOWN)))

    def certainty(self, look: Attribute) -> float:
        """Return a logistic function of the distance from the least similarity that is accepted: ½ at that."""
        return 1 / (1 + math.exp(-abs(look.confidence - self.least(self.roles.oracle)) / SPREAD))

    def pooled_confidence(self, posterior: float, mean: float) -> float:
        """Return the mean similarity: a gallery's confidence is a cosine, not a probability."""
        return share(mean)

    async def _enrolled(self, model: str) -> Gallery:
        """Embed every picture that was not before; BadInput for one that cannot be read or shows nothing to recognise.

        One is embedded anew: only if it looks as before, so do the others.
        """
        kept, names, paths = self._kept(model), *zip(*self.pictures(), strict=True)
        keys = [await asyncio.to_thread(picture_key, path) for path in paths]
        known = {} if kept is None else await asyncio.to_thread(kept.read)
        if (probe := next((key for key in keys if key in known), None)) is not None:
            (now,) = await self._vectors(model, [paths[keys.index(probe)]])
            if known[probe].shape != now.shape or not np.allclose(known[probe], now, atol=SAME):
                known = {}
        fresh = {key: path for key, path in zip(keys, paths, strict=True) if key not in known}
        for start in range(0, len(fresh), CHUNK):
            some = dict(islice(fresh.items(), start, start + CHUNK))
            known |= zip(some, await self._vectors(model, list(some.values())), strict=True)
        if kept is not None and (fresh or known.keys() - keys):  # also without who has left
            await asyncio.to_thread(kept.write, {key: known[key] for key in keys})
        return Gallery(names, paths, np.stack([known[key] for key in keys]))

    async def _vectors(self, model: str, paths: Sequence[Path]) -> NDArray[np.float32]:
        return await self.embed(model, [await self._crop(model, path) for path in paths], Urgency(math.inf))

    async def _crop(self, model: str, path: Path) -> Image:
        portrait = await self.portrait(path)
        if portrait.found > 1 and model == self.roles.oracle:
            log.warning("gallery picture %s shows %d objects: the largest is enrolled", path, portrait.found)
        picture = await asyncio.to_thread(read_picture, path)
        return self.cut_out(
            model, picture, portrait.box, portrait.landmarks
        ).copy()  # without the rest of a large picture

    def least(self, model: str) -> float:
        """Return the similarity from which a model's answer is an identity."""
        return self._engine.card(model).min_similarity if self._min_similarity is None else self._min_similarity

    def _answer(self, model: str, name: str, similarity: float) -> Attribute:
        return self._attribute_of(
            model, name if similarity >= self.least(model) else UNKNOWN, min(max(similarity, 0.0), 1.0)
        )


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Scale N × D rows to length 1; a row of zeros stays zero, similar to nothing."""
    rows = vectors.reshape(len(vectors), -1).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)
