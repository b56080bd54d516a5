"""The base of recognisers that are classes of the user's: pictures of objects go in, words come out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence, Sized
from functools import partial

from operators.base import Call
from operators.frames.crops import cut
from operators.frames.frame import Frame, Region, make_image
from operators.wire.bounds import share, word
from operators.wire.schema import Attribute, Model
from serving.common.tensors import Image
from serving.common.threads import in_thread


class OwnRecogniser(ABC):
    """Operator that gives each object, or the frame, a word: override ``look``."""

    def __init__(self, name: str) -> None:
        """``name``: the node's, which its answers bear in results and filters."""
        self._name = name
        self._model = Model(name=type(self).__name__, version="0", tier="own")

    @abstractmethod
    def look(self, pictures: Sequence[Image]) -> Sequence[tuple[str, float]]:
        """Return a word and its probability, 0…1, for each picture (height × width × 3, BGR); called in a thread."""

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Append one attribute to every region; makes no regions."""
        if regions:
            await make_image(frame)
            pictures = [cut(frame.image, region.box).pixels for region in regions]
            said = await in_thread(partial(self.look, pictures))
            if not isinstance(said, Sized) or len(said) != len(pictures) or not all(map(_is_answer, said)):
                raise ValueError(
                    f"look has returned {said!r:.100} for {len(pictures)} pictures: a (word, share) for each"
                )
            for region, (label, confidence) in zip(regions, said, strict=True):
                region.attributes.append(self._answer(label, confidence))
        return []

    def forget(self, stream: str) -> None:  # noqa: B027 - a default, not a gap
        """Do nothing: no state is kept between frames."""

    def _answer(self, label: str, confidence: float) -> Attribute:
        return Attribute(
            name=self._name, label=word(label), confidence=share(confidence), provenance="oracle", model=self._model
        )


def _is_answer(said: object) -> bool:
    if not (isinstance(said, tuple | list) and len(said) == 2 and isinstance(said[0], str)):
        return False
    return not math.isnan(float(said[1]))
