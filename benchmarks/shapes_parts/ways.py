"""Ways of running one detector, behind the interface of the engine that the product's operator asks."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from operators.base import Call
from operators.decision import Decision
from operators.detect.onnx import OnnxDetector, Reported
from operators.frames.frame import Frame, Region
from operators.frames.planes import Planes
from operators.inference import Inference
from pipelines.environment import catalogue
from serving.catalogue.cards import ModelCard
from serving.catalogue.lookup import read_weights
from serving.engines.network import EngineNetwork
from serving.graphs.surgery.reshape import reshaped
from serving.graphs.surgery.sizes import Size
from serving.loading.opening import engine_for
from serving.loading.rectangles import rectangle
from serving.loading.rewriting import rewritten
from serving.scheduling.requests import Urgency
from serving.variants.artefacts import ResolvedModel
from serving.variants.variant import parse

MODEL, STEP = "yolox-nano", 32
FAINT = 0.3


@dataclass(frozen=True)
class Way:
    """A way of running the detector."""

    name: str
    width: int = 416
    """The longer side of the input, pixels."""
    fits: bool = False
    """Whether its input has the picture's shape."""
    simpler: bool = False
    image: bool = False
    """Whether the frame is made an image first, as all frames were."""
    variant: str = MODEL


class Direct:
    """The engine as the operator sees it: runs a network where it is asked, in one thread, and counts what it takes."""

    def __init__(self, way: Way, models: Path) -> None:
        variant = parse(way.variant)
        entry = catalogue([models]).find(variant.model)
        self.way, self._source = way, ResolvedModel(MODEL, entry, variant, entry.path)
        self._networks: dict[Size, EngineNetwork] = {}
        self._own = _shaped(entry.card, Size(way.width, way.width))
        self._cards: dict[Size, ModelCard] = {}
        self.net_s = 0.0

    def card(self, model: str) -> ModelCard:
        """The card, with the largest input of this way."""
        return self._own

    async def fitted(self, model: str, width: int, height: int, detail: int | None = None) -> ModelCard:
        """The card with the input in which the picture is given."""
        fits = rectangle(self._own.input, width, height, STEP) if self.way.fits else None
        size = fits or Size(self.way.width, self.way.width)
        if size not in self._networks:
            self._networks[size], self._cards[size] = self._opened(size), _shaped(self._own, size)
        return self._cards[size]

    async def load(self, model: str) -> float:
        """Do nothing: a network is opened when the first picture comes."""
        return 0.0

    async def infer(self, model: str, batch: NDArray[Any], urgency: Urgency, early: Any = None) -> list[NDArray[Any]]:
        """The network's outputs."""
        started_s = time.process_time()
        outputs = self._networks[Size(batch.shape[3], batch.shape[2])].run(batch)
        self.net_s += time.process_time() - started_s
        return outputs

    def _opened(self, size: Size) -> EngineNetwork:
        model = read_weights(self._source.path, self._source.entry.card)
        if self.way.simpler:
            model = rewritten(model, replace(self._source, variant=parse(MODEL)))
        if size != (416, 416):
            reshaped(model, size.height, size.width)
        return EngineNetwork(MODEL, model, engine_for(self._source.variant, 1))


def _shaped(card: ModelCard, size: Size) -> ModelCard:
    return card.model_copy(update={"input": card.input.model_copy(update=size._asdict())})


class Node:
    """A detect node that runs one way."""

    def __init__(self, way: Way, models: Path, least: float = FAINT, most: int = 100) -> None:
        self.engine, self._image = Direct(way, models), way.image
        self._detector = OnnxDetector(
            cast(Inference, self.engine), "detect", [MODEL], Reported(min_confidence=least, max_objects=most)
        )

    def found(self, frames: Sequence[Frame]) -> list[list[Region]]:
        """The regions of each frame."""
        return asyncio.run(self._found(frames))

    def costs_s(self, frames: Sequence[Frame]) -> tuple[float, float]:
        """Processor seconds of the whole process for these frames, and those of the network."""
        self.engine.net_s, started_s = 0.0, time.process_time()
        self.found(frames)
        return time.process_time() - started_s, self.engine.net_s

    async def _found(self, frames: Sequence[Frame]) -> list[list[Region]]:
        call = Call(Decision(MODEL), Urgency(math.inf))
        return [await self._detector.process(self._given(frame), (), call) for frame in frames]

    def _given(self, frame: Frame) -> Frame:
        if not self._image or not isinstance(frame.pixels, Planes):
            return frame
        return replace(frame, pixels=frame.pixels.copy().bgr)


def corners(regions: Sequence[Region]) -> NDArray[np.float64]:
    """K × 4 shares of the frame."""
    rows = [(region.box.x_min, region.box.y_min, region.box.x_max, region.box.y_max) for region in regions]
    return np.array(rows, np.float64).reshape(-1, 4)
