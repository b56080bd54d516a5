"""A query and its models: everything that is wrong, in one go."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from pipelines.query.check import examine, open_query
from serving.catalogue.lookup import Catalogue
from serving.errors import QueryError
from tests.pipelines.queries import write, write_model

HEAD = "version: 1\nname: test\nslo_ms: 250\nnodes:\n"
MOTION = "  - {name: detect, task: detect, model: motion}\n"
CARS = "  - {name: detect, task: detect, model: cars}\n"


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    write_model(tmp_path / "models", "cars", "detect")
    write_model(tmp_path / "models", "vehicle-type")
    write_model(tmp_path / "models", "faces", "embed")
    return Catalogue([tmp_path / "models"])


def problems_of(nodes: str, catalogue: Catalogue, path: Path) -> list[str]:
    return [str(problem) for problem in examine(write(path / "q.yaml", HEAD + nodes), catalogue).problems]


def test_a_good_query_opens_with_its_dag_on_the_sources_given(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write(
        tmp_path / "q.yaml", HEAD + CARS + "  - {name: type, task: recognise, input: detect, model: vehicle-type}"
    )
    found = open_query(path, catalogue, ["v4l2:0"])
    assert [stream.id for stream in found.query.streams] == ["v4l2-0"]
    assert [node.name for node in found.dag.nodes] == ["detect", "type"]


def test_form_nodes_and_models_are_checked_at_once(tmp_path: Path, catalogue: Catalogue) -> None:
    path = write(
        tmp_path / "q.yaml",
        """\
        version: 1
        name: test
        nodes:
          - {name: detect, task: detect, model: cars, foo: 1}
          - {name: track, task: track}
          - {name: type, task: recognise, input: trak, model: vehicle-tpye}
          - {name: a, task: track, input: b}
          - {name: b, task: track, input: a}
        """,
    )
    with pytest.raises(QueryError) as caught:
        open_query(path, catalogue)
    lines = [line.removeprefix(f"{path}") for line in str(caught.value).splitlines()]
    assert [line[: line.index(";")] if ";" in line else line for line in lines] == [
        ": slo_ms: is missing",
        ":4: nodes[0].foo: unknown key",
        ":5: nodes[1].input: is missing",
        ":6: nodes[2].input: there is no node 'trak'",
        ":6: nodes[2].model: unknown model 'vehicle-tpye'",
        ":7: nodes[3].input: goes in a circle: a → b → a",
    ]
    assert "; did you mean 'vehicle-type'? allowed: " in lines[4]


def test_a_model_may_be_named_with_its_variant(tmp_path: Path, catalogue: Catalogue) -> None:
    detect = "  - {name: detect, task: detect, model: motion}\n"
    named = detect + "  - {name: type, task: recognise, input: detect, model: vehicle-type@onnxruntime-int8}\n"
    assert examine(write(tmp_path / "q.yaml", HEAD + named), catalogue).problems == ()
    (problem,) = examine(write(tmp_path / "q.yaml", HEAD + named.replace("runtime", "")), catalogue).problems
    assert "unknown engine 'onnx'; allowed: onnxruntime, openvino" in problem.message


def test_without_a_catalogue_models_are_not_checked(tmp_path: Path) -> None:
    assert examine(write(tmp_path / "q.yaml", HEAD + CARS)).problems == ()


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (
            "  - {name: d, task: detect, model: vehicle-type}",
            "nodes[0].model: model 'vehicle-type' names classes (task classify): "
            "a node with task: detect needs a model that finds objects",
        ),
        (
            MOTION + "  - {name: r, task: recognise, input: detect, model: cars}",
            "nodes[1].model: model 'cars' finds objects (task detect): "
            "a node with task: recognise needs one that names classes or compares objects",
        ),
        (
            MOTION + "  - {name: r, task: recognise, input: detect, model: [vehicle-type, faces]}",
            "nodes[1].model[1]: model 'faces' compares objects (task embed): it needs a 'gallery' to compare them with",
        ),
        (
            MOTION + "  - {name: r, task: recognise, input: detect, model: vehicle-type, gallery: models}",
            "nodes[1].model: model 'vehicle-type' names classes (task classify): "
            "a 'gallery' needs one that compares objects (task embed)",
        ),
        (
            MOTION + "  - {name: r, task: recognise, input: detect, model: motion}",
            "nodes[1].model: 'motion' finds objects: use it in a node with task: detect",
        ),
        (
            "  - {name: d, task: detect, model: [cars, motion]}",
            "nodes[0].model[1]: 'motion' cannot be listed beside models: choose one or the other",
        ),
        (
            "  - {name: d, task: detect, model: cars, labels: [car, bsu]}",
            "nodes[0].labels[1]: 'bsu' is nothing that the model finds; did you mean 'bus'? allowed: car, bus, other",
        ),
        (
            CARS + '  - {name: t, task: track, input: "detect[label in (car, truk)]"}',
            "nodes[1].input: label is never 'truk'; allowed: car, bus, other",
        ),
        (
            MOTION + "  - {name: r, task: recognise, input: detect, model: vehicle-type}\n"
            '  - {name: t, task: track, input: "r[not r == bsu]"}',
            "nodes[2].input: r is never 'bsu'; did you mean 'bus'? allowed: car, bus, other, unknown",
        ),
    ],
)
def test_models_must_suit_their_nodes(nodes: str, expected: str, tmp_path: Path, catalogue: Catalogue) -> None:
    assert problems_of(nodes, catalogue, tmp_path)[:1] == [expected]


def test_a_gallery_must_hold_pictures(tmp_path: Path, catalogue: Catalogue) -> None:
    nodes = CARS + '  - {name: who, task: recognise, input: "detect[label == car]", model: faces, gallery: people}\n'
    assert "nodes[1].gallery: no gallery at" in problems_of(nodes, catalogue, tmp_path)[0]
    (tmp_path / "people" / "ada").mkdir(parents=True)
    cv2.imwrite(str(tmp_path / "people" / "ada" / "1.jpg"), np.zeros((8, 8, 3), np.uint8))
    assert problems_of(nodes, catalogue, tmp_path) == []
    nodes += '  - {name: track, task: track, input: "who[who in (ada, unknown, bob)]"}'
    assert problems_of(nodes, catalogue, tmp_path) == ["nodes[2].input: who is never 'bob'; allowed: ada, unknown"]


def test_a_damaged_card_is_told_with_the_node_that_names_it(tmp_path: Path, catalogue: Catalogue) -> None:
    (tmp_path / "models" / "cars" / "model.yaml").write_text("name: cars\n")
    found = problems_of(CARS, catalogue, tmp_path)
    assert len(found) > 3
    assert all(problem.startswith("nodes[0].model: ") for problem in found)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ("caches: release", "caches: is 'release'; allowed: auto, true, false"),
        ("caches: 2", "caches: is 2; allowed: auto, true, false"),
        ("caches: true, gallery: people", ": caches answer classes: remove caches, or the gallery"),
    ],
)
def test_what_is_wrong_with_caches_is_said_in_one_line(
    tmp_path: Path, catalogue: Catalogue, keys: str, problem: str
) -> None:
    node = f"  - {{name: type, task: recognise, input: detect, model: vehicle-type, {keys}}}"
    (found,) = problems_of(CARS + node, catalogue, tmp_path)
    assert found.removeprefix("nodes[1]").removeprefix(".") == problem


def test_a_backend_whose_name_is_no_text_hides_nothing_else(tmp_path: Path) -> None:
    text = "backends: {1: 2}\nnodes: [{name: a, task: detect, model: x on gpu}]"
    told = [str(each) for each in examine(write(tmp_path / "q.yaml", text)).problems]
    assert "nodes[0].model: there is no backend 'gpu'; allowed: 1" in told
