"""The common part of all recognisers: crops of regions go in, one attribute for each comes out."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.audits.roles import Roles
from operators.base import Call
from operators.frames.crops import aligned, cut
from operators.frames.frame import Box, Frame, Landmarks, Region, make_image
from operators.inference import PIXELS_AT_ONCE, Inference, answered_by, asked, card_for, outputs_of
from operators.wire.bounds import share, word
from operators.wire.result import UNKNOWN
from operators.wire.schema import Attribute, Model, Provenance
from serving.catalogue.cards import Task
from serving.common.tensors import Array, Image
from serving.common.threads import in_thread
from serving.scheduling.requests import Urgency

log = logging.getLogger(__name__)


class Recogniser(ABC):
    """Gives each region an attribute, by whichever of its models a call names."""

    def __init__(self, engine: Inference, roles: Roles, attribute: str, margin: float | None, task: Task) -> None:
        """``margin``: share of a box's size added on every side; None: the card's. ModelError for an unfit model."""
        self.roles = roles
        self._engine, self._attribute, self._margin = engine, attribute, margin
        self._faulty: set[str] = set()
        """Places whose network has said what is no number."""
        for model in roles.models:
            card_for(engine, model, task)

    @abstractmethod
    async def prepare(self) -> None:
        """Make the models ready, so that the first frame need not wait; BadInput where one cannot be used."""

    async def name(self, model: str, crops: Sequence[Image], urgency: Urgency) -> list[Attribute]:
        """Return a model's answer for each crop; raises SluiceError if it cannot answer."""
        return await self.named(model, *await self.output(model, crops, urgency))

    async def output(self, model: str, crops: Sequence[Image], urgency: Urgency) -> tuple[str, Array]:
        """Return the place that was asked, and the first output for crops; SluiceError if there is none."""
        return await asked(self._engine, model, partial(self._output, crops, urgency))

    async def named(self, model: str, place: str, output: Array) -> list[Attribute]:
        """Return a model's answers by the output of a place; ``unknown`` for a row that holds what is no number."""
        faulty = np.flatnonzero(no_numbers(output))
        if faulty.size:
            output = output.copy()
            output[faulty] = 0
            self._warn(place)
        answers = await self.said(model, output)
        for row in faulty:
            answers[row] = self._attribute_of(model, UNKNOWN, 0.0)
        if place == model:
            return answers
        where = answered_by(self._engine.card(place), place)
        return [msgspec.structs.replace(answer, model=where) for answer in answers]

    def _warn(self, place: str) -> None:
        """Log once that a network is at fault."""
        if place not in self._faulty:
            self._faulty.add(place)
            advice = "export it anew, or in another precision"
            log.warning("model %r says what is no number (NaN) of some objects, which are unknown: %s", place, advice)

    async def _output(self, crops: Sequence[Image], urgency: Urgency, place: str) -> tuple[str, Array]:
        (output, *_) = await outputs_of(self._engine, place, crops, urgency)
        return place, output

    @abstractmethod
    async def said(self, model: str, output: Array) -> list[Attribute]:
        """Return the answer that each row of a model's first output stands for."""

    @abstractmethod
    def labels(self, model: str) -> tuple[str, ...]:
        """Return all words that a look of a model may say."""

    @property
    def names(self) -> tuple[str, ...]:
        """The L words that the oracle names objects by; ``unknown`` is none of them."""
        return tuple(each for each in self.labels(self.roles.oracle) if each != UNKNOWN)

    def word_of(self, look: Attribute) -> int:
        """The number of the word that would be published of a look of the oracle: 0…L, L is ``unknown``."""
        label = self.accepted(look).label
        return len(self._numbers) if label in self.nameless else self._numbers[label]

    @cached_property
    def nameless(self) -> frozenset[str]:
        """The words that name nothing: the oracle's, and a shortcut's that the oracle never says."""
        oracle = self._engine.card(self.roles.oracle)
        others = {self._engine.card(model).other_label or UNKNOWN for model in self.roles.models}
        return frozenset({UNKNOWN, oracle.other_label or UNKNOWN, *(others - set(oracle.classes))})

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    names_by_look = False
    """Whether each look names its object or says ``unknown``; else only the pool of an object's looks does."""

    @property
    @abstractmethod
    def least_share(self) -> float:
        """The share of a name in an exit's distribution from which it is published; below it is ``unknown``."""

    @abstractmethod
    def shares(self, model: str, output: Array) -> NDArray[np.float32]:
        """N × L: the probability of each name, by a model's first output."""

    def exit_answer(self, shares: NDArray[np.float32], kind: Provenance, number: int, place: int) -> Attribute:
        """The look that an exit's distribution over the names stands for; ``place``: the index of its cut."""
        best = int(shares.argmax())
        card = self._engine.card(self.roles.oracle)
        model = Model(name=card.name, version=str(number), tier=kind, variant=f"exit@{place + 1}")
        return self.answer(self.names[best], float(shares[best]), kind, model)

    @property
    def pixels(self) -> int:
        """Number of pixels that the oracle takes of an object."""
        size = self._engine.card(self.roles.oracle).input
        return size.width * size.height

    def certainty(self, look: Attribute) -> float:
        """Return the probability that a look is right, 0…1."""
        return look.confidence

    def pooled_confidence(self, posterior: float, mean: float) -> float:
        """Return the confidence to publish for pooled looks; ``mean``: of the looks that gave this answer."""
        return share(posterior)

    def accepted(self, answer: Attribute) -> Attribute:
        """Return an answer as it is published: another word where it is not sure enough."""
        return answer

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Append one attribute to every region; makes no regions."""
        await self.look(frame, regions, call)
        self.accept(regions)
        return []

    def accept(self, regions: Sequence[Region]) -> None:
        """Turn the last attribute of every region, which is a look, into an answer to publish."""
        for region in regions:
            region.attributes.append(self.accepted(region.attributes.pop()))

    async def look(self, frame: Frame, regions: Sequence[Region], call: Call) -> None:
        """Append to every region what the called model says, sure or not."""
        if not regions:
            return
        assert call.model is not None
        await make_image(frame)
        crops = await self._crops_in_time(call.model, frame, regions)
        for region, answer in zip(regions, await self.name(call.model, crops, call.urgency), strict=True):
            region.attributes.append(answer)

    async def _crops_in_time(self, model: str, frame: Frame, regions: Sequence[Region]) -> list[Image]:
        """Return ``crops`` without blocking the event loop: it takes time to lay large faces upright."""
        pixels = sum(region.box.area for region in regions if region.landmarks) * frame.width * frame.height
        if self._engine.card(model).input.align is None or pixels <= PIXELS_AT_ONCE:
            return self.crops(model, frame, regions)
        return await in_thread(partial(self.crops, model, frame, regions))

    def crops(self, model: str, frame: Frame, regions: Sequence[Region]) -> list[Image]:
        """Return a model's crop of each region; they may be views into the frame's image."""
        return [self.cut_out(model, frame.image, region.box, region.landmarks) for region in regions]

    def cut_out(self, model: str, image: Image, box: Box, landmarks: Landmarks | None) -> Image:
        """Return what a model is shown of a box: a view into the image, or the face in it, laid upright."""
        size = self._engine.card(model).input
        if size.align is not None and landmarks is not None:
            upright = aligned(image, landmarks, size.align, size.width, size.height)
            if upright is not None:
                return upright
        return cut(image, box, size.margin if self._margin is None else self._margin).pixels

    def forget(self, stream: str) -> None:  # noqa: B027 - a default, not a gap
        """Do nothing: no state is kept between frames."""

    def unanswered(self) -> Attribute:
        """The answer for an object that was not looked at yet."""
        oracle = self.roles.oracle
        return msgspec.structs.replace(
            self.answer(UNKNOWN, 0.0, "track", answered_by(self._engine.card(oracle), oracle)), looks=0
        )

    def answer(self, label: str, confidence: float, provenance: Provenance, model: Model) -> Attribute:
        """Make an attribute of an answer."""
        return Attribute(
            name=self._attribute, label=word(label), confidence=share(confidence), provenance=provenance, model=model
        )

    def _attribute_of(self, model: str, label: str, confidence: float) -> Attribute:
        provenance: Provenance = "variant" if model in self.roles.shortcuts else "oracle"
        return self.answer(label, confidence, provenance, answered_by(self._engine.card(model), model))


def no_numbers(output: Array) -> NDArray[np.bool_]:
    """N: whether the row of an output holds what is no number, or an endless one."""
    rows = output.reshape(len(output), -1)
    return np.asarray((np.isnan(rows) | np.isposinf(rows)).any(axis=1), np.bool_)
