"""Client and server of a backend together, with real networks: answers are those of this process, bit for bit."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import cv2
import msgspec
import numpy as np
import pytest

from operators.audits.roles import Roles
from operators.detect.onnx import OnnxDetector, Reported
from operators.frames.frame import Box, Region
from operators.recognise.classifier import Classifier
from operators.testing import call, make_frame
from serving.backend import Backend
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.engine_observer import UNOBSERVED
from serving.common.tensors import Image
from serving.remote.client.address import BackendAddress
from serving.remote.client.backend_client import BackendClient, ClientTools
from serving.remote.router import Router
from serving.scheduling.limits import NetworkBounds
from serving.scheduling.requests import Urgency
from tests.models import yolox_nano
from tests.serving.remote.server.running import Served, served

SOON = Urgency(math.inf)
LEAST = 0.2


@asynccontextmanager
async def routed(server: Served, catalogue: Catalogue, *names: str) -> AsyncIterator[Router]:
    """An engine whose own networks are those of the catalogue, with the server as its backend ``gpu``."""
    here = Backend(catalogue, bounds=NetworkBounds(threads=1))
    scores = {"yolox-nano": LEAST}
    address = BackendAddress("gpu", (f"grpc://127.0.0.1:{server.port}",))
    client = BackendClient(address, catalogue, ClientTools(least_scores=scores))
    engine = Router(here, {"gpu": client}, names, observer=UNOBSERVED)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


def street(data_dir: Path) -> Image:
    video = cv2.VideoCapture(str(data_dir / "videos" / "street-level.mp4"))
    read, image = video.read()
    video.release()
    assert read
    return np.asarray(image, np.uint8)


def without_ids(regions: Sequence[Region]) -> list[tuple[str | None, float, Box]]:
    return [(each.label, each.confidence, each.box) for each in regions]


async def test_a_classifier_says_the_same_there_and_here(tmp_path: Path) -> None:
    crops = [np.random.default_rng(seed).integers(0, 256, (48, 30 + seed, 3), np.uint8) for seed in range(20)]
    catalogue = Catalogue([SHIPPED])
    names = ("vehicle-type", "vehicle-type on gpu", "vehicle-type on auto")
    async with served(catalogue, tmp_path) as server, routed(server, catalogue, *names) as engine:
        classifier = Classifier(engine, Roles.of(names, engine.card), "type")
        await classifier.prepare()
        said = {name: await classifier.name(name, crops, SOON) for name in names}
        scores = {name: [(each.label, each.confidence) for each in answers] for name, answers in said.items()}
        assert scores["vehicle-type"] == scores["vehicle-type on gpu"] == scores["vehicle-type on auto"]
        models = {name: answers[0].model for name, answers in said.items()}
        there, here = models["vehicle-type on gpu"], models["vehicle-type"]
        assert there is not None
        assert here is not None
        assert (there.backend, there.name, there.version) == ("gpu", here.name, here.version)
        assert here.backend is msgspec.UNSET


@pytest.mark.parametrize("detail", [None, 608])
async def test_a_detector_finds_the_same_there_and_here(tmp_path: Path, data_dir: Path, detail: int | None) -> None:
    catalogue = yolox_nano(tmp_path / "models", data_dir)
    names = ("yolox-nano", "yolox-nano on gpu")
    frame = make_frame(image=street(data_dir))
    async with served(catalogue, tmp_path) as server, routed(server, catalogue, *names) as engine:
        detector = OnnxDetector(engine, "detect", names, Reported(min_confidence=LEAST), detail=detail)
        await detector.prepare()
        found = [without_ids(await detector.process(frame, [], call(name))) for name in names]
    assert found[0] == found[1]
    assert len(found[0]) > 3
    assert min(confidence for _, confidence, _ in found[0]) < 0.5


async def test_a_variant_is_served_by_its_name(tmp_path: Path) -> None:
    crops = [np.random.default_rng(1).integers(0, 256, (48, 48, 3), np.uint8)]
    catalogue, name = Catalogue([SHIPPED]), "vehicle-type@openvino-fp32 on gpu"
    async with served(catalogue, tmp_path) as server, routed(server, catalogue, name) as engine:
        classifier = Classifier(engine, Roles.of([name], engine.card), "type")
        (answer,) = await classifier.name(name, crops, SOON)
        assert answer.model is not None
        assert (answer.model.variant, answer.model.backend) == ("openvino-fp32", "gpu")
