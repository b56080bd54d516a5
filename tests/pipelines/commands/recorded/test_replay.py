"""``sluice replay`` as users run it: the same query, another one, and folders that are no recordings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import cv2
import pytest
import yaml
from click.testing import CliRunner, Result

from pipelines.cli import sluice
from serving.errors import BadInput, SluiceError
from tests.models import yolox_nano

QUERY = {
    "version": 1,
    "name": "yard",
    "slo_ms": 60_000,
    "streams": [{"id": "gate", "uri": "synthetic:street?seed=3&duration_s=6&fps=10&width=320&height=180"}],
    "nodes": [
        {"name": "detect", "task": "detect", "model": "motion"},
        {"name": "track", "task": "track", "input": "detect"},
        {"name": "kind", "task": "recognise", "input": "track", "model": "street-kind"},
    ],
}


def write(path: Path, **changes: object) -> Path:
    path.write_text(yaml.safe_dump(QUERY | changes))
    return path


def run(*arguments: object) -> Result:
    found = CliRunner().invoke(sluice, [str(each) for each in arguments])
    if isinstance(found.exception, SluiceError):
        raise found.exception
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A query, and what it has recorded."""
    folder = tmp_path_factory.mktemp("recorded")
    query = write(folder / "yard.yaml")
    assert run("run", query, "--record", folder / "kept").exit_code == 0
    return query, folder / "kept"


def test_the_same_query_finds_what_it_found_and_another_does_not(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    query, kept = recorded
    found = run("replay", kept, query, "--json", "--tolerance", 0)
    said = json.loads(found.stdout)
    assert (found.exit_code, said["ok"], said["changed"]) == (0, True, 0)
    assert said["frames"]["seen"] >= 40
    assert said["streams"][0]["stream"] == "gate"
    (note,) = said["notes"]
    assert note.startswith("motion depends on all frames")

    blind = [{**QUERY["nodes"][0], "motion": {"min_area": 0.5}}, *QUERY["nodes"][1:]]  # type: ignore[index]
    other = write(tmp_path / "other.yaml", nodes=blind)
    found = run("replay", kept, other, "--output", tmp_path / "seen")
    assert found.exit_code == 1
    assert "the query is not the one that was recorded, yard" in found.output
    assert "100.0% of the objects have changed: more than the 5.0%" in found.output
    pictures = sorted((tmp_path / "seen").iterdir())
    assert len(pictures) == 20
    shown = cv2.imread(str(pictures[0]))
    assert shown.shape == (24 + 270, 2 * 480, 3)
    left, right = shown[24:, :480].astype(int), shown[24:, 480:].astype(int)
    assert abs(left - right).max() > 100  # what was found then is drawn on the left alone


def test_a_recording_with_faults_is_compared_as_far_as_it_goes(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    query, kept = recorded
    shutil.copytree(kept, tmp_path / "kept")
    episode = tmp_path / "kept" / "000001"
    (episode / "00000.jpg").write_bytes(b"no jpeg")
    (episode / "00001.jpg").unlink()
    lines = (episode / "results.jsonl").read_bytes().splitlines()
    lines[2] = lines[2].replace(b'"width":320', b'"width":640')
    lines[3] = b"{"
    (episode / "results.jsonl").write_bytes(b"\n".join(lines))
    said = json.loads(run("replay", tmp_path / "kept", query, "--json").stdout)
    assert said["frames"]["unreadable"] == 4


def test_what_cannot_be_replayed_is_told_in_one_line(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    query, kept = recorded
    with pytest.raises(BadInput, match="is no recording"):
        run("replay", tmp_path, query)
    shutil.copy(kept / "manifest.json", tmp_path)
    with pytest.raises(SluiceError, match="no frame can be compared: 0 were recorded"):
        run("replay", tmp_path, query)
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="choose another folder"):
        run("replay", kept, query, "--output", tmp_path / "file" / "seen")
    with pytest.raises(BadInput, match="choose another folder"):
        run("run", query, "--record", query.parent)
    with pytest.raises(BadInput, match="--record-mb belongs to --record"):
        run("run", query, "--record-mb", 5)


@pytest.mark.data
@pytest.mark.parametrize("given", [[], ["--source"]])
def test_a_detector_that_looked_ahead_finds_what_it_found(given: list[str], tmp_path: Path, data_dir: Path) -> None:
    yolox_nano(tmp_path / "models", data_dir)
    clip = str(data_dir / "videos" / "person-bicycle-car-detection.mp4")
    detect = {"name": "detect", "task": "detect", "model": "yolox-nano", "when": "needed"}
    kind = {"name": "kind", "task": "recognise", "input": "track", "model": "vehicle-type"}
    stream = {"id": "gate", "uri": "other.mp4" if given else clip, "sample": {"fps": 5}}
    query = write(tmp_path / "ahead.yaml", streams=[stream], nodes=[detect, QUERY["nodes"][1], kind])  # type: ignore[index]
    models, source = ("--models", tmp_path / "models"), [*given, clip] if given else []
    assert run("run", query, *models, *source, "--record", tmp_path / "kept", "--limit", 120).exit_code == 0
    lines = "".join(each.read_text() for each in (tmp_path / "kept").glob("0*/results.jsonl"))
    assert {'"skipped":true' in lines, '"skipped":false' in lines, '"window":' in lines} == {True}
    found = run("replay", tmp_path / "kept", query, *models, "--json", "--tolerance", 0)
    said = json.loads(found.stdout)
    assert (found.exit_code, said["changed"], said["notes"]) == (0, 0, [])
    assert said["streams"][0]["objects"] > 20
