"""The how-tos that look at what is found, with what ships: counting, cutting networks, small heads."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.doc_pages import ROOT
from tests.how_to.reader import Reader
from tests.models import yolox_nano


@pytest.mark.data
def test_people_and_cars_are_counted(tmp_path: Path, data_dir: Path) -> None:
    yolox_nano(tmp_path / "models", data_dir)
    with Reader("count", tmp_path, SLUICE_MODELS=str(tmp_path / "models")) as reader:
        head = (
            f"version: 1\nname: hall\nslo_ms: 500\nstreams: [{{id: hall, uri: {ROOT / 'examples' / 'street.mp4'}}}]\n"
        )
        (reader.folder / "hall.yaml").write_text(head + reader.block("yaml") + reader.block("yaml"))
        assert "door" in reader.run("sluice check hall.yaml")
        said = reader.follow()
        assert "street counter: crossed" in said
        assert "street road: entered" in said
        assert "('counter', 'left_to_right'," in reader.python(reader.block("python"))
        counting = yaml.safe_load((ROOT / "examples" / "counting.yaml").read_text())
        counting["nodes"][-1:] = yaml.safe_load(reader.block("yaml"))
        (reader.folder / "closer.yaml").write_text(yaml.safe_dump(counting))
        reader.run("sluice check closer.yaml")


def test_a_model_is_cut(tmp_path: Path) -> None:
    with Reader("cut-a-model", tmp_path) as reader:
        assert "vehicle-type: " in reader.follow()
        reader.follow()
        assert {path.name for path in (reader.folder / "pieces").iterdir()} == {
            "vehicle-type-0.onnx",
            "vehicle-type-1.onnx",
        }
        reader.python(reader.block("python"))


def evidence(folder: Path) -> list[Path]:
    return sorted(folder.glob("evidence/0*/results.jsonl"))


@pytest.mark.data
def test_a_recording_is_replayed(tmp_path: Path, data_dir: Path) -> None:
    yolox_nano(tmp_path / "models", data_dir)
    with Reader("replay", tmp_path, SLUICE_MODELS=str(tmp_path / "models")) as reader:
        query = reader.yard(data_dir / "videos" / "person-bicycle-car-detection.mp4")
        (reader.folder / "yard-new.yaml").write_text(query.read_text().replace("labels: [car,", "labels: [person,"))
        record, again, changed = reader.commands()
        reader.run(record)
        assert evidence(reader.folder)
        assert "0.0% of the objects have changed: within" in reader.run(again)
        assert "more than the 2.0%" in reader.run(changed, status=1)
        assert list((reader.folder / "pictures").glob("*.jpg"))
