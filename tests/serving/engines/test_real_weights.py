"""The sample weights on the sample clip: what people would run, end to end through the engine."""

from __future__ import annotations

import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from operators.audits.roles import Roles
from operators.detect.onnx import OnnxDetector, Reported
from operators.recognise.gallery import GalleryRecogniser
from operators.testing import call, make_frame, make_region
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.catalogue.public import public_model
from serving.scheduling.limits import NetworkBounds
from tests.models import write_card

pytestmark = pytest.mark.data


def frame_at(clip: Path, index: int) -> np.ndarray:
    capture = cv2.VideoCapture(str(clip))
    for _ in range(index):
        capture.grab()
    _, image = capture.read()
    capture.release()
    return image


@pytest.mark.parametrize(("index", "label"), [(30, "car"), (330, "person")])
async def test_yolox_finds_what_is_on_the_clip(tmp_path: Path, data_dir: Path, index: int, label: str) -> None:
    directory = tmp_path / "yolox-nano"
    directory.mkdir()
    shutil.copy(data_dir / "weights" / "yolox_nano.onnx", directory / "net.onnx")
    public = public_model("yolox-nano")
    write_card(directory, **public.card, classes=public.class_names())
    engine = Backend(Catalogue([tmp_path]), bounds=NetworkBounds(threads=1))
    await engine.start()
    detector = OnnxDetector(engine, "detect", ["yolox-nano"], Reported(["person", "bicycle", "car"]))
    image = frame_at(data_dir / "videos" / "person-bicycle-car-detection.mp4", index)
    (region,) = await detector.process(make_frame(image=image), [], call("yolox-nano", 0.0))
    await engine.stop()
    assert region.label == label
    assert region.confidence > 0.5
    assert region.box.x_max < 0.5
    assert region.box.y_max < 0.6


async def test_an_embedder_knows_a_picture_again_in_poorer_light(tmp_path: Path, data_dir: Path) -> None:
    directory = tmp_path / "mobilefacenet"
    directory.mkdir()
    shutil.copy(data_dir / "weights" / "mobilefacenet" / "MobileFaceNet.onnx", directory / "net.onnx")
    size = {"width": 112, "height": 112, "scale": 1 / 255, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
    write_card(directory, task="embed", classes=None, input=size)
    pictures = [min((data_dir / "images" / "vehicle6" / name).glob("*.jpg")) for name in ("truck", "car")]
    for path in pictures:
        (tmp_path / "gallery" / path.parent.name).mkdir(parents=True)
        shutil.copy(path, tmp_path / "gallery" / path.parent.name)
    engine = Backend(Catalogue([tmp_path]), bounds=NetworkBounds(threads=1))
    await engine.start()
    recogniser = GalleryRecogniser(
        engine, Roles.of(["mobilefacenet"], engine.card), "who", tmp_path / "gallery", min_similarity=0.7
    )
    answers = []
    for path in pictures:
        dusk = (cv2.imread(str(path)) * 0.7).astype(np.uint8)
        region = make_region(0, 0, 1, 1)
        await recogniser.process(make_frame(image=dusk), [region], call("mobilefacenet", 0.0))
        answers.append(region.attributes[0].label)
    await engine.stop()
    assert answers == ["truck", "car"]
