"""``sluice check`` as a user and as a script meet it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines import cli
from pipelines.commands.check import command
from serving.errors import QueryError
from tests.pipelines.queries import write, write_model

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
    write_model(tmp_path / "models", "small")
    write_model(tmp_path / "models", "large")
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
        "  not measured here, so timed when the query first runs and not chosen before: small, large",
    ]


def test_json_for_scripts(tmp_path: Path, models: Path) -> None:
    path = write(tmp_path / "q.yaml", GOOD)
    result = CliRunner().invoke(command, [str(path), "--models", str(models), "--json"], catch_exceptions=False)
    said = json.loads(result.output)
    assert (result.exit_code, said["ok"], said["name"]) == (0, True, "cars")
    assert [node["name"] for node in said["nodes"]] == ["detect", "track", "type"]
    assert said["plan"] == {"models": {}, "unmeasured": ["small", "large"], "budgets_ms": {}}
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


HEADS = """\
    version: 1
    name: cars
    slo_ms: 250
    accuracy: {accuracy}
    streams:
      - uri: clip.mp4
    nodes:
      - {{name: detect, task: detect, model: motion}}
      - {{name: track, task: track, input: detect}}
      - {{name: type, task: recognise, input: track, model: vehicle-type, specialize: true}}
"""


def test_heads_that_cannot_pay_are_told_of_with_accuracy_and_cause(tmp_path: Path) -> None:
    path = write(tmp_path / "q.yaml", HEADS.format(accuracy=0.999))
    result = CliRunner().invoke(command, [str(path)], catch_exceptions=False)
    assert result.exit_code == 0
    last = result.output.splitlines()[-1]
    assert last.startswith("  look at  type: heads will not be used at accuracy 0.999: those of vehicle-type-compact")
    said = json.loads(CliRunner().invoke(command, [str(path), "--json"], catch_exceptions=False).output)
    assert [doubt.partition(":")[0] for doubt in said["doubts"]] == ["type"]


def test_heads_that_may_pay_are_not_told_of(tmp_path: Path) -> None:
    path = write(tmp_path / "q.yaml", HEADS.format(accuracy=0.9))
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
