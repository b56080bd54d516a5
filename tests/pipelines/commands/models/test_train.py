"""``sluice models crops`` and ``sluice models train``: from a recording, or a folder, to a recogniser in a query."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import cv2
import pytest
from click.testing import CliRunner

from datasets.street import street_crops
from pipelines.commands.models import command
from pipelines.measure.stand_ins import contest_job
from pipelines.measure.stand_ins.roles import prospect
from pipelines.query.check import open_query
from pipelines.query.query_file import DEFAULT_ACCURACY
from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.errors import BadInput, ModelError
from serving.variants.artefacts import resolve
from serving.variants.contest import Contender, Contest, read
from specialization.kit import recogniser
from tests.operators.publish.messages import thing
from tests.pipelines.observe.record.test_crops import record

CLASSES = ("car", "motorcycle", "truck")
QUERY = """
version: 1
name: mine
slo_ms: 250
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: track, task: track, input: detect}
  - {name: what, task: recognise, input: track, model: mine}
"""


def said(*arguments: str) -> str:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def draw(folder: Path, count: int = 120) -> Path:
    """Drawn crops of some classes."""
    for number, (image, name) in enumerate(zip(*street_crops(77, count, 64), strict=True)):
        if name in ("bike", "car", "person"):
            path = folder / name / f"cam{number % 4}_{number}_0.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(path), image)
    return folder


@pytest.fixture
def real(tmp_path: Path, data_dir: Path) -> Path:
    """Some crops of real cameras, as a user might have them."""
    archive = data_dir / "crops" / "vietnam_cctv.zip"
    if not archive.is_file():
        pytest.skip(f"no crops of real cameras at {archive}")
    taken: Counter[tuple[str, str]] = Counter()
    with zipfile.ZipFile(archive) as crops:
        for member in crops.namelist():
            name, _, file = member.partition("/")
            key = name, file.partition("_")[0]
            if name in CLASSES and file.endswith(".jpg") and taken[key] < 10:
                taken[key] += 1
                path = tmp_path / "crops" / name / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(crops.read(member))
    return tmp_path / "crops"


@pytest.mark.data
def test_crops_of_real_cameras_become_a_recogniser_that_a_query_names(real: Path, tmp_path: Path) -> None:
    told = ("--base", "vehicle-type-compact", "--into", str(tmp_path / "models"), "--threads", "1", "--json")
    found = json.loads(said("train", "mine", "--from", str(real), *told))
    assert found["classes"] == list(CLASSES)
    assert found["held_out"] == "camera"
    assert found["balanced_accuracy"] > 0.5
    assert found["right_of_named"] > 0.75
    assert sum(map(sum, found["confusion"])) == found["crops"]
    assert any("last block" in note for note in found["notes"])
    int8 = found["contest"]["contenders"][0]
    assert int8["variant"] == "mine@onnxruntime-int8"
    assert 0 < int8["agreement"] < 1, "what begins with this backbone loses by int8, which is told"
    models = Catalogue([tmp_path / "models", SHIPPED])
    (tmp_path / "q.yaml").write_text(QUERY, encoding="utf-8")
    assert [node.name for node in open_query(tmp_path / "q.yaml", models).query.nodes] == ["detect", "track", "what"]


def test_the_report_says_what_it_is_worth_and_how_to_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SLUICE_MODELS", str(tmp_path / "models"))
    (tmp_path / "models").mkdir()
    lines = said(
        "train", "mine", "--from", str(draw(tmp_path / "crops")), "--base", "street-kind", "--frozen"
    ).splitlines()
    assert lines[0] == "mine: 45 crops held out, cameras not learnt from"
    assert lines[1].startswith("likeliest class right 0.")
    assert lines[2].startswith("named 0.")
    assert lines[4].split() == ["bike", "car", "person", "unknown"]
    assert lines[-1] == f"written to {tmp_path / 'models' / 'mine'}: use it with 'model: mine'"
    known = Catalogue([tmp_path / "models"])
    assert resolve("mine@onnxruntime-int8", known, tmp_path / "cache").path.is_file()
    contest = read(known.find("mine"), tmp_path / "cache")
    assert lines[-2] == prospect("mine", contest, DEFAULT_ACCURACY)


def test_a_variant_that_seldom_agrees_stands_in_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    seldom = Contender(variant="mine@onnxruntime-int8", identity="1" * 64, processor_s=1e-4, agreement=0.28)
    held = Contest(
        identity="0" * 64, fingerprints={}, processor_s=1e-3, items=100, contenders=(seldom,), measured_at="now"
    )
    monkeypatch.setattr(contest_job, "held_on", lambda *_: held)
    asked = ("train", "mine", "--from", str(draw(tmp_path / "crops")), "--base", "street-kind", "--frozen")
    assert "mine has no stand-in: no variant that agrees" in said(*asked, "--into", str(tmp_path / "m"))


def test_what_cannot_be_compared_is_told_and_the_recogniser_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file where a folder is wanted", encoding="utf-8")
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    asked = ("train", "mine", "--from", str(draw(tmp_path / "crops")), "--base", "street-kind", "--frozen", "--json")
    found = json.loads(said(*asked, "--into", str(tmp_path / "m")))
    assert found["contest"] is None
    assert "its variants are not compared: " in found["notes"][-1]
    assert Catalogue([tmp_path / "m"]).find("mine").path.is_file()


def test_frozen_features_need_no_pytorch(tmp_path: Path) -> None:
    draw(tmp_path / "crops")
    asked = ["models", "train", "mine", "--from", "crops", "--base", "street-kind", "--frozen", "--into", "m"]
    probe = f"""
import sys
from pipelines.cli import sluice
assert not sluice.main({asked!r}, standalone_mode=False)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", probe], check=True, cwd=tmp_path)


@pytest.mark.parametrize("name", ["Mine", "../mine", "a b", "", "x" * 81])
def test_a_name_that_no_model_may_have_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="cannot be a model's name: small letters, digits"):
        said("train", name, "--from", str(tmp_path / "none"))


def test_a_model_that_is_there_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(ModelError, match="mine exists: remove it, or give the model another name"):
        said("train", "mine", "--from", str(tmp_path / "none"), "--into", str(tmp_path))


def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m").write_text("a file where a folder is wanted", encoding="utf-8")
    monkeypatch.setattr(recogniser, "make", lambda *_: pytest.fail("it was trained in vain"))
    asked = (
        "--from",
        str(draw(tmp_path / "crops")),
        "--base",
        "street-kind",
        "--frozen",
        "--into",
        str(tmp_path / "m"),
    )
    with pytest.raises(ModelError, match="m: cannot be written"):
        said("train", "mine", *asked)


def test_a_folder_that_is_not_there_and_a_base_that_is_unknown_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="none: no such folder"):
        said("train", "mine", "--from", str(tmp_path / "none"))
    with pytest.raises(ModelError, match="unknown model 'vehicle-typo'; did you mean 'vehicle-type'"):
        said("train", "mine", "--from", str(tmp_path), "--base", "vehicle-typo")


def test_a_recording_becomes_folders_of_crops(tmp_path: Path) -> None:
    evidence = record(tmp_path / "evidence", thing(7), thing(8, "bus"))
    lines = said("crops", str(evidence), "--into", str(tmp_path / "crops"), "--per-track", "2").splitlines()
    assert lines[:2] == ["bus: 2", "car: 2"]
    assert lines[2].startswith("4 crops in ")


def test_a_recording_without_tracks_is_told(tmp_path: Path) -> None:
    evidence = record(tmp_path / "evidence", thing(None), frames=3)
    with pytest.raises(BadInput, match="no tracked objects in it that are large enough"):
        said("crops", str(evidence), "--into", str(tmp_path / "crops"))
