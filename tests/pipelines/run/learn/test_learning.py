"""``sluice learn`` on a street and on pictures: what is learnt is stored for the node, and read again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner, Result

from pipelines.cli import sluice
from pipelines.environment import artefacts_dir
from pipelines.measure.exit_files import exits_file, learned_exits
from pipelines.measure.stand_ins.roles import contests
from pipelines.measure.stand_ins.shown import LEAST_ITEMS
from pipelines.run.learn import choice, costs, learning
from pipelines.run.learn.costs import NetworkCosts
from serving.catalogue.lookup import SHIPPED, Catalogue, Entry
from serving.common.tensors import Array
from serving.errors import BadInput, SluiceError
from serving.profiling import contest
from serving.variants.contest import read
from tests.pipelines.queries import write

QUERY = """\
    version: 1
    name: street
    slo_ms: 5000
    accuracy: 0.6
    streams:
      - {id: street, uri: "synthetic:street?seed=3&duration_s=40&fps=5"}
    nodes:
      - {name: boxes, task: detect, model: motion}
      - {name: track, task: track, input: boxes}
      - {name: type, task: recognise, input: track, model: vehicle-type}
      - {name: scene, task: recognise, input: frame, model: street-kind}
"""
KNOWN = Catalogue([SHIPPED])


@pytest.fixture(autouse=True)
def hurried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(costs, "BUDGET_S", 0.05)
    monkeypatch.setattr(learning, "contests", lambda *_: {})


def cheap_cuts(_entry: Entry, cuts: Sequence[str], _item: Array) -> NetworkCosts:
    """A network whose first part costs next to nothing."""
    return NetworkCosts(0.01, [0.001 * number for number in range(1, len(cuts) + 1)], 1e-6)


def learn(query: Path, *arguments: object) -> Result:
    found = CliRunner().invoke(sluice, ["learn", str(query), *map(str, arguments)])
    if isinstance(found.exception, SluiceError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found


def test_every_look_of_a_recording_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "LEAST_LOOKS", 10_000)
    found = json.loads(learn(write(tmp_path / "q.yaml", QUERY), "--json").output)
    type_, scene = found["nodes"]
    assert (type_["oracle"], scene["oracle"]) == ("vehicle-type", "street-kind")
    assert found["frames"] == scene["looks"] == 200
    assert 50 < type_["looks"] < 1000
    assert type_["look_ms"] > 0
    assert type_["exits"] is None
    assert "looks are too few" in type_["why_not"]
    assert learned_exits(KNOWN.find("vehicle-type"), "street", "type") is None


def test_exits_are_stored_for_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "LEAST_LOOKS", 20)
    monkeypatch.setattr(learning, "network_costs", cheap_cuts)
    monkeypatch.setattr(learning, "lookup_s", lambda _: 1e-6)
    said = learn(write(tmp_path / "q.yaml", QUERY.replace("0.6", "0.3"))).output
    entry = KNOWN.find("street-kind")
    assert f"written to {exits_file(entry, 'street', 'scene')}" in said
    assert "names lost: " in said
    found = learned_exits(entry, "street", "scene")
    assert found is not None
    assert found.card.model_identity == entry.card.identity
    assert learned_exits(entry, "street", "other") is None


def test_pictures_take_the_place_of_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "LEAST_LOOKS", 10_000)
    folder, rng = tmp_path / "crops" / "some", np.random.default_rng(0)
    folder.mkdir(parents=True)
    for number in range(11):
        cv2.imwrite(str(folder / f"{number}.png"), rng.integers(0, 255, (40, 60, 3), np.uint8))
    found = json.loads(learn(write(tmp_path / "q.yaml", QUERY), "--data", tmp_path / "crops", "--json").output)
    assert [node["looks"] for node in found["nodes"]] == [11, 11]


def test_the_contest_of_a_networks_variants_is_held_and_kept_for_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "LEAST_LOOKS", 10_000)
    monkeypatch.setattr(learning, "contests", contests)
    monkeypatch.setattr(contest, "BUDGET_S", 0.1)
    query = QUERY.replace("model: vehicle-type", "model: [vehicle-type, vehicle-type-compact]")
    found = json.loads(learn(write(tmp_path / "q.yaml", query), "--limit", 60, "--json").output)
    assert found["contests"].keys() == {"street-kind"}, "a list is the user's choice"
    of_name = found["contests"]["street-kind"]
    assert {each["variant"] for each in of_name["contenders"]} >= {"street-kind@onnxruntime-int8"}
    kept = read(KNOWN.find("street-kind"), artefacts_dir())
    assert kept is not None
    assert kept.items == of_name["items"] >= contest.LEAST_ITEMS
    monkeypatch.setattr(learning, "held_on", lambda *_: pytest.fail("it was held before"))
    again = json.loads(learn(write(tmp_path / "q.yaml", query), "--limit", 60, "--json").output)
    assert again["contests"]["street-kind"] == of_name


def test_why_variants_are_not_compared_is_said_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "contests", contests)
    said = learn(write(tmp_path / "q.yaml", QUERY), "--limit", 3).output.splitlines()
    why = f"its variants are not compared: 3 pictures were looked at, {LEAST_ITEMS} are the least"
    assert f"street-kind: {why}" in said
    assert any(line.startswith("vehicle-type: its variants are not compared: ") for line in said)
    assert not any("are compared by" in line for line in said)


@pytest.mark.parametrize(
    ("text", "arguments", "why"),
    [
        (
            QUERY,
            ["--source", "rtsp://gate.local/1"],
            r"stream gate-local-1 is live: record it, and give --source",
        ),
        (QUERY, ["--source", "a.mp4", "--data", "b"], r"--data takes the place of a recording"),
        (QUERY, ["--data", "b"], r"--data b: no such folder"),
        (QUERY.replace("0.6", "1.0"), [], r"at accuracy: 1 nothing but the reference may answer"),
        (QUERY[: QUERY.index("      - {name: type")], [], r"no network of street can have exits or a stand-in"),
    ],
)
def test_what_cannot_be_learnt_from_is_said_in_one_line(
    tmp_path: Path, text: str, arguments: list[str], why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        learn(write(tmp_path / "q.yaml", text), *arguments)
