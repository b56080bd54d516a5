from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipelines.commands.models import command
from serving.catalogue.public import public_models
from serving.errors import BadInput, ModelError, Unavailable
from serving.loading.proofs import proven
from serving.variants.artefacts import folder
from serving.variants.variant import reference
from tests.models import mean_model, write_card
from tests.real.http_files import serve_files


@pytest.fixture(autouse=True)
def nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("SLUICE_MODELS", raising=False)


def invoke(*arguments: str) -> str:
    """The output of ``sluice models …``; raises what it raises."""
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_list_shows_what_is_here_and_what_can_be_pulled(tmp_path: Path) -> None:
    figure = {"dataset": "colours", "split": "held out", "value": 0.875, "n": 8}
    mean_model(tmp_path / "m", "colours", accuracy=[figure])
    rows = {row["name"]: row for row in json.loads(invoke("list", "--json", "--models", str(tmp_path / "m")))}
    assert rows["colours"]["state"] == "here"
    assert rows["colours"]["accuracy"] == [{**figure, "metric": "top-1"}]
    assert {name for name, row in rows.items() if row["state"] == "to pull"} == set(public_models())
    table = invoke("list", "--models", str(tmp_path / "m"))
    assert "colours" in table
    assert "0.875 top-1" in table


def test_list_fits_a_terminal_and_tells_all_at_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    figures = [{"dataset": f"set {n}", "split": "test", "value": n / 10, "n": 8} for n in range(1, 6)]
    mean_model(tmp_path / "m", "a-model-with-a-long-name", accuracy=figures)
    lines = invoke("list", "--models", str(tmp_path / "m")).splitlines()
    (line,) = [each for each in lines if each.startswith("a-model-with-a-long-name")]
    assert "0.100 top-1" in line
    assert "0.200" not in line
    assert max(map(len, lines)) <= 80
    assert len(lines) == 1 + len(public_models()) + 5
    long = invoke("list", "--long", "--models", str(tmp_path / "m"))
    assert "a-model-with-a-long-name: 0.500 top-1 on set 5 (test), 8 pictures" in long


def test_list_tells_in_which_shapes_a_network_was_found_to_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    entry = mean_model(tmp_path / "m", "net").find("net")
    directory = folder(tmp_path / "cache", entry)
    proven(directory, reference("net"), "416x256", lambda: 3e-6)
    with pytest.raises(ModelError):
        proven(directory, reference("net"), "416x320", lambda: 0.25)
    at = ("--models", str(tmp_path / "m"))
    refused = "its numbers differ by 0.25, more than 0.0001"
    rows = {row["name"]: row for row in json.loads(invoke("list", "--json", *at))}
    assert rows["net"]["changes"] == {"416x256": "the same to 3e-06", "416x320": refused}
    assert f"net 416x320: {refused}" in invoke("list", "--long", *at).splitlines()


def test_list_shows_a_broken_model_without_failing(tmp_path: Path) -> None:
    write_card(tmp_path / "m" / "broken", licence=None)
    (row, *_) = json.loads(invoke("list", "--json", "--models", str(tmp_path / "m")))
    assert (row["state"], row["name"]) == ("broken", "broken")
    assert "licence: is missing" in row["problem"]


def test_verify_checks_all_or_the_named(tmp_path: Path) -> None:
    mean_model(tmp_path / "m", "fine")
    mean_model(tmp_path / "m", "cut").find("cut").path.write_bytes(b"cut")
    at = ("--models", str(tmp_path / "m"))
    assert invoke("verify", "fine", *at) == "fine: ok\n"
    with pytest.raises(ModelError, match=r"cut.*damaged"):
        invoke("verify", *at)
    with pytest.raises(ModelError, match="unknown model 'fin'"):
        invoke("verify", "fin", *at)


def test_pull_fetches_the_sample_weights_from_a_mirror(tmp_path: Path, data_dir: Path) -> None:
    weights = (data_dir / "weights" / "yolox_nano.onnx").read_bytes()
    with serve_files({"/yolox_nano.onnx": weights}) as mirror:
        invoke("pull", "yolox-nano", "--mirror", mirror.url, "--into", str(tmp_path / "m"))
    assert invoke("verify", "yolox-nano", "--models", str(tmp_path / "m")) == "yolox-nano: ok\n"


def test_pull_puts_models_where_the_user_keeps_them(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = (data_dir / "weights" / "yolox_nano.onnx").read_bytes()
    with serve_files({"/yolox_nano.onnx": weights}) as mirror:
        invoke("pull", "yolox-nano", "--mirror", mirror.url)
        monkeypatch.setenv("SLUICE_MODELS", str(tmp_path / "mine"))
        invoke("pull", "yolox-nano", "--mirror", mirror.url)
    for home in (tmp_path / "data" / "sluice" / "models", tmp_path / "mine"):
        assert (home / "yolox-nano" / "yolox_nano.onnx").read_bytes() == weights


def test_pull_needs_a_name() -> None:
    with pytest.raises(BadInput, match=r"name the models to pull, or --all; known: .*yolox-nano"):
        invoke("pull")


def test_pull_of_an_unknown_model_fetches_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no public model 'yolo'"):
        invoke("pull", "yolox-nano", "yolo", "--into", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_pull_of_what_the_mirror_has_not_is_one_line(tmp_path: Path) -> None:
    with serve_files({}) as mirror, pytest.raises(Unavailable, match="HTTP 404"):
        invoke("pull", "ultraface", "--mirror", mirror.url, "--into", str(tmp_path))


def test_the_command_line_ends_with_one_line_and_a_status(tmp_path: Path) -> None:
    sluice = [sys.executable, "-c", "from pipelines.cli import main; main()"]
    asked = [*sluice, "models", "verify", "nothing", "--models", str(tmp_path)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("sluice: error: unknown model 'nothing'")
    assert len(done.stderr.splitlines()) == 1
