"""``sluice check`` as a user and as a script meet it."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines import cli
from pipelines.commands.check import command
from pipelines.commands.run import command as run
from pipelines.query.check import open_query
from pipelines.run.outputs import Outputs
from pipelines.run.run_query import run_query
from serving.catalogue.lookup import Catalogue
from serving.errors import BadInput, QueryError, SluiceError, SourceError
from tests.models import mean_model, write_card
from tests.pipelines.queries import write

GOOD = """\
    version: 1
    name: cars
    slo_ms: 250
    streams:
      - uri: rtsp://viewer:hunter2@camera.local/yard
        sample: {fps: 5}
    nodes:
      - {name: type, task: recognise, input: "track[label in (moving)]", model: [small, large]}
      - {name: detect, task: detect, model: motion}
      - {name: track, task: track, input: detect}
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    mean_model(tmp_path / "models", "small")
    mean_model(tmp_path / "models", "large")
    return tmp_path / "models"


def test_a_good_query_is_ok_and_shows_what_it_does(tmp_path: Path, models: Path) -> None:
    path = write(tmp_path / "q.yaml", GOOD)
    result = CliRunner().invoke(command, [str(path), "--models", str(models)], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "ok: cars, 250 ms from capture to result",
        "  stream     camera-local-yard  rtsp://***@camera.local/yard (5 fps, drop_oldest)",
        "  detect     detect             frame → motion",
        "  track      track              detect → ids",
        "  recognise  type               track[label in (moving)] → small (or large)",
        "  timed when the query first runs, and not chosen before: small, large",
    ]


def test_json_for_scripts(tmp_path: Path, models: Path) -> None:
    path = write(tmp_path / "q.yaml", GOOD)
    result = CliRunner().invoke(command, [str(path), "--models", str(models), "--json"], catch_exceptions=False)
    said = json.loads(result.output)
    assert (result.exit_code, said["ok"], said["name"]) == (0, True, "cars")
    assert [node["name"] for node in said["nodes"]] == ["detect", "track", "type"]
    assert said["unmeasured"] == ["small", "large"]
    assert "hunter2" not in result.output


def test_json_of_problems(tmp_path: Path) -> None:
    path = write(tmp_path / "q.yaml", GOOD.replace("name: cars", "nane: cars"))
    result = CliRunner().invoke(command, [str(path), "--json"], catch_exceptions=False)
    said = json.loads(result.output)
    assert (result.exit_code, said["ok"]) == (2, False)
    assert said["problems"][1]["path"] == "nane"
    assert said["problems"][1]["line"] == 2
    assert "did you mean 'name'?" in said["problems"][1]["message"]


def test_a_bad_query_is_one_line_per_problem_and_exit_status_2(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "q.yaml", GOOD.replace("slo_ms", "slo").replace("[small, large]", "[smal, large]"))
    monkeypatch.setattr(sys, "argv", ["sluice", "check", str(path), "--models", str(models)])
    monkeypatch.setattr(os, "_exit", sys.exit)  # which would end the tests
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, out) == (2, "")
    lines = err.splitlines()
    assert lines[0] == f"sluice: error: {path}: slo_ms: is missing"
    assert lines[1].startswith(f"sluice: error: {path}:3: slo: unknown key; did you mean 'slo_ms'? allowed: version,")
    assert lines[2].startswith(f"sluice: error: {path}:8: nodes[0].model[0]: unknown model 'smal'")
    assert len(lines) == 3


MASKS = """\
    masks:
      - {streams: camera-local-yard, ignore: [[0, 0], [0.5, 0], [0.5, 1]], labels: moving}
      - {streams: "gate-*", require: [[0, 0], [0.5, 0], [0.5, 1], [0, 1]]}
"""


def test_masks_are_shown_with_those_that_lie_on_no_stream(tmp_path: Path, models: Path) -> None:
    path = write(tmp_path / "q.yaml", GOOD + MASKS)
    result = CliRunner().invoke(command, [str(path), "--models", str(models)], catch_exceptions=False)
    assert result.output.splitlines()[-3:-1] == [
        "  mask       camera-local-yard  ignores moving in 3 corners",
        "  mask       gate-*             requires everything in 4 corners (no stream of this query has such an id)",
    ]


def test_a_mask_for_what_no_detector_finds_is_a_problem(tmp_path: Path, models: Path) -> None:
    path = write(tmp_path / "q.yaml", GOOD + MASKS.replace("labels: moving", "labels: person"))
    result = CliRunner().invoke(command, [str(path), "--models", str(models), "--json"], catch_exceptions=False)
    (problem,) = json.loads(result.output)["problems"]
    assert problem["path"] == "masks[0].labels[0]"
    assert problem["message"] == "'person' is nothing that is found; allowed: moving"


PLACES = """\
    zones: [{name: yard, polygon: [[0, 0], [1, 0], [1, 1]], labels: [moving, cars]}]
    lines: [{name: gate, points: [[0, 0.5], [1, 0.5]], labels: [moved]}]
"""


def test_zones_and_lines_for_what_no_detector_finds_are_problems(tmp_path: Path, models: Path) -> None:
    path = write(tmp_path / "q.yaml", GOOD + PLACES)
    result = CliRunner().invoke(command, [str(path), "--models", str(models), "--json"], catch_exceptions=False)
    problems = {each["path"]: each["message"] for each in json.loads(result.output)["problems"]}
    assert problems == {
        "zones[0].labels[1]": "'cars' is nothing that is found; allowed: moving",
        "lines[0].labels[0]": "'moved' is nothing that is found; allowed: moving",
    }


EXITS = """\
    version: 1
    name: cars
    slo_ms: 250
    accuracy: {accuracy}
    streams:
      - uri: "synthetic:street?duration_s=1"
    nodes:
      - {{name: detect, task: detect, model: motion}}
      - {{name: track, task: track, input: detect}}
      - {{name: type, task: recognise, input: track, model: vehicle-type, specialize: true}}
"""


def test_exits_that_will_not_answer_are_told_of_with_the_cause(tmp_path: Path) -> None:
    path = write(tmp_path / "q.yaml", EXITS.format(accuracy=1))
    result = CliRunner().invoke(command, [str(path)], catch_exceptions=False)
    assert result.exit_code == 0
    last = result.output.splitlines()[-1]
    assert last.startswith("  look at  type: at accuracy 1 exits may not disagree")
    said = json.loads(CliRunner().invoke(command, [str(path), "--json"], catch_exceptions=False).output)
    assert [doubt.partition(":")[0] for doubt in said["doubts"]] == ["type"]


def test_exits_that_may_answer_are_not_told_of(tmp_path: Path) -> None:
    path = write(tmp_path / "q.yaml", EXITS.format(accuracy=0.9))
    result = CliRunner().invoke(command, [str(path)], catch_exceptions=False)
    assert "look at" not in result.output


def test_a_secret_that_is_not_to_be_had_is_a_problem_of_its_line(
    tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "q.yaml", GOOD.replace("hunter2", "${YARD_PASSWORD}"))
    line = f"{path}:5: streams[0].uri: the environment variable YARD_PASSWORD is not set"
    with pytest.raises(QueryError, match=re.escape(line)):
        CliRunner().invoke(command, [str(path), "--models", str(models)], catch_exceptions=False)
    monkeypatch.setattr("pipelines.query.secret_places.variable", {"YARD_PASSWORD": "hunter2"}.get)
    result = CliRunner().invoke(command, [str(path), "--models", str(models)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "rtsp://***@camera.local/yard" in result.output


FAULTY = """\
    version: 1
    name: faulty
    slo_ms: 250
    streams:
      - {{id: one, uri: "{one}"}}
      - {{id: two, uri: "{two}"}}
    nodes:
      - {{name: detect, task: detect, model: motion}}
      - {{name: track, task: track, input: detect}}
      - {{name: colour, task: recognise, input: track, model: {models}}}
"""
STREET = "synthetic:street?duration_s=1"
BAD_SOURCES = {
    "none.mp4": "no such file",
    "empty.mp4": "the file is empty",
    "text.mp4": "not a video, or damaged",
    "pictures": "no images in this directory",
    "synthetic:street?sed=1": "unknown street option 'sed': allowed are seed,",
    "synthetic:street?fps=x": "street option fps='x'",
    "synthetic:road": "unknown generator 'road'",
}
BAD_CARDS: dict[str, tuple[dict[str, object], str]] = {
    "of another width": ({"input": {"width": 5, "height": 4, "colour": "bgr"}}, "was given float32 1 × 3 × 4 × 5"),
    "with too few classes": ({"classes": ["blue", "green"]}, "scores 3 classes, its card lists 2"),
    "whose scores are no probabilities": (
        {"scores": "probabilities"},
        "which are no probabilities: set 'scores: logits'",
    ),
    "with an output that is not there": ({"outputs": ["none"]}, "no output 'none' in the graph"),
    "of other weights": ({"sha256": "0" * 64}, "is damaged or another file"),
    "without weights": ({"file": "none.onnx"}, "none.onnx is missing"),
}


def problems_of(path: Path, models: Path) -> list[str]:
    said = CliRunner().invoke(command, [str(path), "--models", str(models), "--json"], catch_exceptions=False)
    found = json.loads(said.output)["problems"] if said.exit_code else []
    return [f"{each['line']}: {each['path']}: {each['message']}" for each in found]


def fails_to_run(path: Path, models: Path) -> bool:
    """Whether a run of some frames ends with an error, or with frames that failed."""
    try:
        return run_query(open_query(path, Catalogue([models])), Outputs(), limit=20).frames.failed > 0
    except (SluiceError, SourceError):
        return True


@pytest.mark.parametrize("source", BAD_SOURCES)
def test_a_source_that_a_run_cannot_read_is_a_problem(source: str, tmp_path: Path, models: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("no video\n" * 100)
    (tmp_path / "pictures").mkdir()
    path = write(tmp_path / "q.yaml", FAULTY.format(one=STREET, two=source, models="small"))
    (problem,) = problems_of(path, models)
    assert problem.startswith("6: streams[1].uri: ")
    assert BAD_SOURCES[source] in problem
    assert fails_to_run(path, models)


@pytest.mark.parametrize("kind", BAD_CARDS)
def test_a_model_that_a_run_cannot_use_is_a_problem(kind: str, tmp_path: Path, models: Path) -> None:
    changes, why = BAD_CARDS[kind]
    write_card(models / "large", **changes)
    moving = "synthetic:street?duration_s=3&fps=10&density=2"
    path = write(tmp_path / "q.yaml", FAULTY.format(one=moving, two=STREET, models="[small, large]"))
    (problem,) = problems_of(path, models)
    assert problem.startswith("10: nodes[2].model[1]: ")
    assert why in problem
    alone = write(tmp_path / "alone.yaml", FAULTY.format(one=moving, two=STREET, models="large"))
    (problem,) = problems_of(alone, models)
    assert problem.startswith("10: nodes[2].model: ")
    assert fails_to_run(alone, models)


def test_an_oracle_that_a_node_does_not_list_is_opened_too(tmp_path: Path, models: Path) -> None:
    path = write(tmp_path / "q.yaml", FAULTY.format(one=STREET, two=STREET, models="small@onnxruntime-int8"))
    (problem,) = problems_of(path, models)
    assert "variant 'small@onnxruntime-int8' is not built yet" in problem
    write_card(models / "small", file="none.onnx")
    assert len(problems_of(path, models)) == 2


def test_what_is_wrong_in_many_places_is_found_at_once(tmp_path: Path, models: Path) -> None:
    write_card(models / "large", classes=["blue", "green"])
    path = write(tmp_path / "q.yaml", FAULTY.format(one="a.mp4", two="b.mp4", models="large"))
    assert [each.split(":")[0] for each in problems_of(path, models)] == ["5", "6", "10"]


def test_a_camera_is_left_alone(tmp_path: Path, models: Path) -> None:
    path = write(tmp_path / "q.yaml", FAULTY.format(one="rtsp://127.0.0.1:1/x", two="v4l2:9", models="small"))
    assert problems_of(path, models) == []


@pytest.mark.parametrize(
    "variable",
    ["SLUICE_DEVICE", "SLUICE_HWACCEL", "SLUICE_DECODED_MEMORY", "SLUICE_MODEL_MEMORY", "SLUICE_MODEL_TIMEOUT"],
)
def test_a_setting_that_a_run_refuses_is_refused(
    variable: str, tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "q.yaml", FAULTY.format(one=STREET, two=STREET, models="small"))
    monkeypatch.setenv(variable, "lots")
    with pytest.raises(BadInput, match=variable):
        CliRunner().invoke(command, [str(path), "--models", str(models)], catch_exceptions=False)
    with pytest.raises(BadInput, match=variable):
        CliRunner().invoke(run, [str(path), "--models", str(models)], catch_exceptions=False)
