"""Objects of a recording become pictures in folders, a few of each, whatever the recording says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import cv2
import pytest

from operators.wire.schema import BoundingBox, Detection, Object
from pipelines.observe.record import crops
from pipelines.observe.record.crops import WantedCrops, save_crops
from pipelines.observe.record.recorder import recorders
from serving.errors import BadInput
from specialization.kit.crops import CropOrigin
from tests.operators.publish.messages import attribute, picture, result, thing
from tests.pipelines.observe.forward.notes import event
from tests.pipelines.observe.record.scenes import recording

WANTED = WantedCrops(attribute=None, margin=0.0, per_track=3, apart_s=0.5)


def record(directory: Path, *objects: Object, stream: str = "yard", frames: int = 30) -> Path:
    """Frames of the size that their results say, ten a second, each as bright as its number."""
    with recorders(recording(directory)) as (recorder,):
        for seq in range(frames):
            found = result(seq, *objects, stream=stream)
            asyncio.run(recorder.take(picture(found, 640, 360, grey=3 * seq), found))
            if not seq:
                for at in range(0, frames, 10):
                    recorder.event_found(event(seq=0, media_time_s=at / 10, stream=stream))
    return directory


def test_each_track_gets_some_crops_of_moments_apart_in_the_folder_of_its_label(tmp_path: Path) -> None:
    evidence = record(tmp_path / "evidence", thing(7), thing(8, "bus"))
    saved = save_crops(evidence, tmp_path / "crops", WANTED)
    assert saved.by_folder == {"car": 3, "bus": 3}
    names = sorted(path.name for path in (tmp_path / "crops" / "car").iterdir())
    assert names == ["yard_r1-7_000.jpg", "yard_r1-7_001.jpg", "yard_r1-7_002.jpg"]
    images = [cv2.imread(str(tmp_path / "crops" / "car" / name)) for name in names]
    assert {image.shape for image in images} == {(180, 160, 3)}
    assert [round(image.mean() / 3) for image in images] == [0, 5, 10]
    assert CropOrigin.of(names[0]) == ("yard", "yard_r1-7")


def test_an_answer_of_a_recogniser_names_the_folder_and_without_one_it_is_unknown(tmp_path: Path) -> None:
    other = thing(3, "car", attributes=[attribute("red", "colour")])
    evidence = record(tmp_path / "evidence", thing(1, "car", "van"), thing(2, "car", "unknown"), other)
    wanted = WantedCrops("type", 0.0, 1, 0.5)
    assert save_crops(evidence, tmp_path / "crops", wanted).by_folder == {"van": 1, "unknown": 2}


def test_an_answer_that_nobody_gave_is_told_with_those_that_were(tmp_path: Path) -> None:
    record(tmp_path / "evidence", thing(3, "car", attributes=[attribute("red", "colour")]), frames=3)
    later = thing(3, "car", attributes=[attribute("van", "vehicle_type")])
    evidence = record(tmp_path / "evidence", later, stream="gate", frames=3)
    with pytest.raises(BadInput, match=r"--attribute type: is no answer in .*; .*allowed: colour, vehicle_type"):
        save_crops(evidence, tmp_path / "crops", WantedCrops("type", 0.0, 1, 0.5))
    assert not (tmp_path / "crops").exists()


def test_what_has_no_track_is_part_of_another_or_too_small_is_left_out(tmp_path: Path) -> None:
    tiny = BoundingBox(x_min=0.5, y_min=0.5, x_max=0.51, y_max=0.52)
    small = thing(5, detection=Detection(bounding_box=tiny, confidence=0.8, label="car"))
    evidence = record(tmp_path / "evidence", thing(None), thing(4, parent_id=1), small, frames=12)
    saved = save_crops(evidence, tmp_path / "crops", WANTED)
    assert not saved.by_folder
    assert not (tmp_path / "crops").exists()


def test_the_margin_widens_the_box(tmp_path: Path) -> None:
    evidence = record(tmp_path / "evidence", thing(7), frames=3)
    save_crops(evidence, tmp_path / "crops", WantedCrops(None, 0.5, 1, 1))
    assert cv2.imread(str(tmp_path / "crops" / "car" / "yard_r1-7_000.jpg")).shape == (360, 320, 3)


@pytest.mark.parametrize(
    ("label", "folder"),
    [
        ("../../etc", "etc"),
        ("a/b", "a-b"),
        ("..", "unknown"),
        ("\x1b[2J", "2J"),
        ("xe tải", "xe tải"),
        ("v" * 200, "v" * 64),
    ],
)
def test_no_label_leads_out_of_the_folder(tmp_path: Path, label: str, folder: str) -> None:
    evidence = record(tmp_path / "evidence", thing(7, label), stream="../a_b", frames=3)
    save_crops(evidence, tmp_path / "crops", WantedCrops(None, 0.0, 1, 1))
    written = [path.relative_to(tmp_path / "crops") for path in (tmp_path / "crops").rglob("*.jpg")]
    assert [str(path) for path in written] == [f"{folder}/---a-b_r1-7_000.jpg"]


def test_frames_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    evidence = record(tmp_path / "evidence", thing(7), frames=12)
    (evidence / "000001" / "00003.jpg").write_bytes(b"no picture")
    (evidence / "000001" / "00004.jpg").unlink()
    assert save_crops(evidence, tmp_path / "crops", WANTED).unreadable == 2


def test_crops_and_counted_tracks_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = record(tmp_path / "evidence", *(thing(number) for number in range(9)))
    monkeypatch.setattr(crops, "MOST_TRACKS", 5)
    assert save_crops(evidence, tmp_path / "a", WANTED).by_folder == {"car": 15}
    monkeypatch.setattr(crops, "MOST_CROPS", 4)
    saved = save_crops(evidence, tmp_path / "b", WANTED)
    assert saved.full
    assert saved.by_folder["car"] < 10


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    evidence = record(tmp_path / "evidence", thing(7), frames=3)
    (tmp_path / "crops").mkdir()
    (tmp_path / "crops" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="other things lie there; choose another folder"):
        save_crops(evidence, tmp_path / "crops", WANTED)


def test_what_is_no_recording_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no recording"):
        save_crops(tmp_path, tmp_path / "crops", WANTED)
