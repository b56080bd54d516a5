"""Pictures of timelines: one for each stream, whatever is known of it."""

from __future__ import annotations

from pathlib import Path

import cv2
import pytest

from pipelines.report.plots.timeline import save_all
from serving.errors import BadInput
from specialization.timeline import Timeline
from tests.pipelines.report import timeline_story


def height(path: Path) -> int:
    image = cv2.imread(str(path))
    assert image is not None
    assert image.std() > 10  # something is drawn
    return int(image.shape[0])


def never_specialised() -> Timeline:
    told = Timeline()
    told.entered(0, "initialising")
    told.counted(3, oracle=30)
    return told


def test_a_picture_for_each_stream_with_its_nodes_below_each_other(tmp_path: Path) -> None:
    told = [
        ("gate", "kind", timeline_story.timeline()),
        ("yard", "kind", never_specialised()),
        ("gate", "colour", timeline_story.timeline()),
        ("door", "kind", Timeline()),
    ]
    written = save_all(tmp_path, told, [timeline_story.plan()])
    assert written == [tmp_path / "gate.png", tmp_path / "yard.png", tmp_path / "door.png"]
    gate, yard, door = map(height, written)
    assert gate > 2 * yard > 0
    assert yard == door


def test_a_picture_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^--plots .*: gate.png cannot be written \(No such file or directory\)$"):
        save_all(tmp_path / "gone", [("gate", "kind", never_specialised())], [])
