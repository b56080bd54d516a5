"""``sluice check`` on galleries, with real faces and real networks."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import cv2
import pytest
from click.testing import CliRunner
from click.testing import Result as Said

from operators.detect.onnx import OnnxDetector
from operators.frames.crops import cut
from operators.frames.frame import Frame, Region
from operators.testing import call, make_frame
from operators.wire.schema import Object, Result, from_json
from pipelines.commands.check import command
from pipelines.query.dag import compiled
from pipelines.query.draft import load_query
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.backend import Backend
from serving.catalogue.lookup import Catalogue
from serving.catalogue.public import public_model
from serving.common.tensors import Image
from serving.errors import QueryError
from serving.scheduling.limits import NetworkBounds
from tests.models import write_card
from tests.pipelines.queries import write

PICTURES = ("000000008532", "000000004395", "000000012667", "000000011051", "000000009448", "000000009378")
"""Pictures with a large face or two."""
FRONTAL = ("000000008532", "000000011051", "000000009448")
"""Those whose face looks at the camera, and is large."""
QUERY = """\
    version: 1
    name: faces
    slo_ms: 60000
    streams: [{id: album, uri: frames}]
    nodes:
      - {name: detect, task: detect, model: ultraface}
      - {name: track, task: track, input: "detect[label == face]"}
      - {name: who, task: recognise, input: "track[area >= 0.001]", model: faces, gallery: people}
"""

pytestmark = pytest.mark.data


MOBILE_FACE_NET = {"width": 112, "height": 112, "scale": 1 / 127.5, "mean": [1.0, 1.0, 1.0]}


@pytest.fixture
def models(data_dir: Path, tmp_path: Path) -> Path:
    weights, models = data_dir / "weights", tmp_path / "models"
    (models / "ultraface").mkdir(parents=True)
    (models / "faces").mkdir()
    shutil.copy(weights / "ultraface" / "version-RFB-320.onnx", models / "ultraface" / "net.onnx")
    shutil.copy(weights / "mobilefacenet" / "MobileFaceNet.onnx", models / "faces" / "net.onnx")
    size = {"width": 320, "height": 240, "mean": [127, 127, 127], "std": [128, 128, 128]}
    decoding = {"kind": "ssd", "background": 0, "min_score": 0.7, "nms_iou": 0.3}
    found = {"task": "detect", "input": size, "outputs": ["boxes", "scores"], "classes": ["face"], "decoding": decoding}
    write_card(models / "ultraface", **found)
    write_card(models / "faces", task="embed", classes=None, input=MOBILE_FACE_NET, min_similarity=0.5)
    return models


@pytest.fixture
def upright(models: Path, centerface: Path) -> Path:
    """The same with CenterFace, and the embedder for faces that are laid upright."""
    (models / "centerface").mkdir()
    shutil.copy(centerface, models / "centerface" / "net.onnx")
    write_card(models / "centerface", **public_model("centerface").card)
    aligned = {**MOBILE_FACE_NET, "align": "arcface"}
    write_card(models / "faces", task="embed", classes=None, input=aligned, min_similarity=0.5)
    return models


async def faces(models: Path, data_dir: Path) -> list[tuple[Frame, Region]]:
    """The largest face of each picture."""
    engine = Backend(Catalogue([models]), bounds=NetworkBounds(threads=1))
    await engine.start()
    detector = OnnxDetector(engine, "detect", ["ultraface"])
    found = []
    for name in PICTURES:
        frame = make_frame(image=cv2.imread(str(data_dir / "images" / "coco128_val" / f"{name}.jpg")))
        regions = await detector.process(frame, [], call("ultraface"))
        found.append((frame, max(regions, key=lambda region: region.box.area)))
    await engine.stop()
    return found


def enrolled(
    folder: Path, found: list[tuple[Frame, Region]], surroundings: float, names: Sequence[str] = PICTURES
) -> None:
    for name, (frame, region) in zip(names, found, strict=True):
        (folder / "people" / name).mkdir(parents=True)
        picture = cut(frame.image, region.box, surroundings).pixels
        cv2.imwrite(str(folder / "people" / name / "1.jpg"), picture, [cv2.IMWRITE_JPEG_QUALITY, 95])


def frames(folder: Path, found: list[tuple[Frame, Region]]) -> None:
    """The same pictures, darker and smaller."""
    (folder / "frames").mkdir(parents=True)
    for number, (frame, _) in enumerate(found):
        dusk = cv2.resize((frame.image * 0.8).astype("uint8"), None, fx=0.9, fy=0.9, interpolation=cv2.INTER_AREA)
        cv2.imwrite(str(folder / "frames" / f"{number}.jpg"), dusk)


def check(folder: Path, models: Path) -> Said:
    return CliRunner().invoke(command, [str(folder / "q.yaml"), "--models", str(models)])


def test_faces_enrolled_with_hair_and_background_or_cut_closely_get_the_same_answers(
    data_dir: Path, models: Path, tmp_path: Path
) -> None:
    found = asyncio.run(faces(models, data_dir))
    answers = {}
    for kind, surroundings in (("uncut", 0.8), ("cut", 0.0)):
        enrolled(tmp_path / kind, found, surroundings)
        frames(tmp_path / kind, found)
        answers[kind] = answers_of(write(tmp_path / kind / "q.yaml", QUERY), models)
    assert answers["uncut"] == answers["cut"] == list(PICTURES)


def answers_of(path: Path, models: Path) -> list[str]:
    """Who the largest face of each frame is."""
    wanted, out = load_query(path), path.with_suffix(".jsonl")
    run_query(compiled(wanted, Catalogue([models])), Outputs(str(out)))
    results = [from_json(line, Result) for line in out.read_bytes().splitlines()]
    return [max(each.objects, key=_area).attributes[0].label for each in results]


def _area(found: Object) -> float:
    box = found.detection.bounding_box
    return (box.x_max - box.x_min) * (box.y_max - box.y_min)


def test_faces_with_landmarks_are_known_however_the_camera_hangs(data_dir: Path, upright: Path, tmp_path: Path) -> None:
    found = asyncio.run(faces(upright, data_dir))
    known = [found[PICTURES.index(name)] for name in FRONTAL]
    enrolled(tmp_path, known, 0.8, FRONTAL)
    (tmp_path / "frames").mkdir()
    for number, (frame, region) in enumerate(known):
        cv2.imwrite(str(tmp_path / "frames" / f"{number}.jpg"), turned(frame.image, region, 30.0))
    path = write(tmp_path / "q.yaml", QUERY.replace("ultraface", "centerface"))
    assert answers_of(path, upright) == list(FRONTAL)
    said = check(tmp_path, upright)
    assert (said.exit_code, said.output.splitlines()[0][:9]) == (0, "ok: faces")


def turned(image: Image, face: Region, degrees: float) -> Image:
    """The picture as a camera shows it that hangs crookedly, the face in the same place."""
    height, width = image.shape[:2]
    centre = (face.box.x_min + face.box.x_max) / 2 * width, (face.box.y_min + face.box.y_max) / 2 * height
    shown: Image = cv2.warpAffine(image, cv2.getRotationMatrix2D(centre, degrees, 1.0), (width, height))
    return shown


def test_a_sound_gallery_is_ok(data_dir: Path, models: Path, tmp_path: Path) -> None:
    found = asyncio.run(faces(models, data_dir))
    enrolled(tmp_path, found, 0.8)
    frames(tmp_path, found)
    write(tmp_path / "q.yaml", QUERY)
    said = check(tmp_path, models)
    assert said.exit_code == 0, said.output
    assert said.output.startswith("ok: faces")


def test_pictures_without_a_face_and_doubles_are_named_and_people_alike_are_a_doubt(
    data_dir: Path, models: Path, tmp_path: Path
) -> None:
    found = asyncio.run(faces(models, data_dir))
    enrolled(tmp_path, found, 0.8)
    frames(tmp_path, found)
    write(tmp_path / "q.yaml", QUERY)
    people, first = tmp_path / "people", PICTURES[0]
    flipped = cv2.flip(cv2.imread(str(people / first / "1.jpg")), 1)
    (people / "twin").mkdir()
    cv2.imwrite(str(people / "twin" / "1.jpg"), flipped)
    said = check(tmp_path, models)
    assert said.exit_code == 0
    assert f"look at  {first}/1.jpg and twin/1.jpg look alike" in said.output

    shutil.copy(people / first / "1.jpg", people / "twin" / "2.jpg")
    with pytest.raises(QueryError, match=r"nodes\[2\]\.gallery: .*twin/2\.jpg: it is") as caught:
        check_or_raise(tmp_path, models)
    assert len(str(caught.value).splitlines()) == 1

    cv2.imwrite(str(people / "twin" / "2.jpg"), flipped[:40, :40])
    with pytest.raises(QueryError, match=r"q\.yaml:8: .*twin/2\.jpg: 'ultraface' finds nothing on it"):
        check_or_raise(tmp_path, models)


def check_or_raise(folder: Path, models: Path) -> None:
    CliRunner().invoke(command, [str(folder / "q.yaml"), "--models", str(models)], catch_exceptions=False)
