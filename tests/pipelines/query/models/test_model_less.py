"""Nodes that say what they need: which models they come to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pipelines.query.draft import read_draft
from pipelines.query.models.model_less import MOST_MODELS, with_models
from pipelines.query.needs import needs_of
from pipelines.query.nodes import DetectNode, RecogniseNode
from pipelines.query.yaml_file import read_yaml
from serving.catalogue.lookup import Catalogue
from serving.errors import ModelError
from serving.variants.timings import VariantFigures
from tests.pipelines.queries import write, write_model

SAME = "d" * 64


def profile(ms: float, agreement: float = 1.0, accuracy: float | None = None, data: str = SAME) -> VariantFigures:
    return VariantFigures({1: ms / 1000}, agreement, accuracy, data)


PROFILES: dict[str, VariantFigures | ModelError] = {
    "cars": profile(10, accuracy=0.8),
    "cars@onnxruntime-int8": profile(3, 0.98),
    "cars@openvino-fp32": profile(9, 0.999),
    "cars@openvino-int8": profile(4, 0.97),  # slower than another that agrees more
    "cars@openvino-bf16": profile(2, 0.85),
    "cars-compact": profile(1, accuracy=0.74),
}


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    models = tmp_path / "models"
    write_model(models, "cars", tier="reference")
    write_model(models, "cars-compact", tier="compact")
    write_model(models, "faces", task="embed", tier="reference")
    write_model(models, "signs", tier="compact", classes=["stop", "go", "other"])
    return Catalogue([models])


def models_of(
    path: Path, catalogue: Catalogue, model: str, known: Mapping[str, VariantFigures | ModelError] = PROFILES
) -> tuple[tuple[str, ...], list[str]]:
    text = f"""\
    version: 1
    name: q
    slo_ms: 100
    backends: {{pool: {{url: "grpc://127.0.0.1:1"}}}}
    nodes:
      - {{name: detect, task: detect, model: motion}}
      - {{name: type, task: recognise, input: detect, model: {model}}}
    """

    def measured(name: str) -> VariantFigures | None:
        found = known.get(name)
        if isinstance(found, ModelError):
            raise found
        return found

    draft = read_draft(read_yaml(write(path / "q.yaml", text)))
    found, problems = with_models(draft, catalogue, measured)
    told = [str(problem) for problem in (*draft.problems, *problems)]
    node = found.nodes.get(1)
    if isinstance(node, RecogniseNode) and found.query is not None:
        assert found.query.nodes[1] == node
    return (node.model if isinstance(node, RecogniseNode) else ()), told


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        ("{task: cars, accuracy: 0.95}", ("cars", "cars@openvino-fp32", "cars@onnxruntime-int8")),
        ("{task: cars, accuracy: 0.99}", ("cars", "cars@openvino-fp32")),
        ("{task: cars, accuracy: 1}", ("cars",)),
        (
            "{task: cars, accuracy: 0.95, latency_ms: 1, backend: pool}",  # times of another device
            (
                *("cars on pool", "cars@openvino-fp32 on pool"),
                *("cars@onnxruntime-int8 on pool", "cars@openvino-int8 on pool"),
            ),
        ),
        ("{task: cars}", ("cars", "cars@openvino-fp32", "cars@onnxruntime-int8", "cars-compact")),
        ("auto", ("cars", "cars@openvino-fp32", "cars@onnxruntime-int8", "cars-compact")),
        ("{accuracy: 0.99}", ("cars", "cars@openvino-fp32")),
        ("{task: cars, accuracy: 0}", ("cars", "cars@openvino-fp32", "cars@onnxruntime-int8", "cars-compact")),
        ("[cars, cars-compact]", ("cars", "cars-compact")),
    ],
)
def test_the_oracle_then_what_agrees_often_enough_and_is_faster(
    model: str, listed: tuple[str, ...], tmp_path: Path, catalogue: Catalogue
) -> None:
    assert models_of(tmp_path, catalogue, model) == (listed, [])


def test_a_detector_is_chosen_among_its_variants_smaller_inputs_included(tmp_path: Path) -> None:
    write_model(tmp_path / "models", "finder", task="detect", input={"width": 416, "height": 416})
    query = """\
    version: 1
    name: q
    slo_ms: 100
    nodes:
      - {name: detect, task: detect, model: {task: finder, accuracy: 0.6}, when: needed}
    """
    known = {
        "finder": profile(20),
        "finder@onnxruntime-int8": profile(9, 0.3),
        "finder@onnxruntime-fp32-size320": profile(12, 0.8),
        "finder@onnxruntime-fp32-size256": profile(7, 0.65),
    }
    draft = read_draft(read_yaml(write(tmp_path / "q.yaml", query)))
    found, problems = with_models(draft, Catalogue([tmp_path / "models"]), known.get)
    assert [*draft.problems, *problems] == []
    node = found.nodes[0]
    assert isinstance(node, DetectNode)
    assert node.model == ("finder", "finder@onnxruntime-fp32-size320", "finder@onnxruntime-fp32-size256")


def test_without_profiles_the_oracle_answers_alone(tmp_path: Path, catalogue: Catalogue) -> None:
    assert models_of(tmp_path, catalogue, "auto", {}) == (("cars",), [])


def test_profiles_that_cannot_be_used_are_left_out(tmp_path: Path, catalogue: Catalogue) -> None:
    known = {**PROFILES, "cars@openvino-fp32": ModelError("holds no more"), "cars": ModelError("holds no more")}
    assert models_of(tmp_path, catalogue, "auto", known)[0] == ("cars", "cars@onnxruntime-int8")


def test_other_models_count_only_where_they_were_measured_on_the_same_pictures(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    known = {**PROFILES, "cars-compact": profile(1, accuracy=0.79, data="e" * 64)}
    assert "cars-compact" not in models_of(tmp_path, catalogue, "auto", known)[0]


def test_there_is_an_end_to_the_list(tmp_path: Path, catalogue: Catalogue) -> None:
    known = dict(PROFILES)
    for number in range(MOST_MODELS):
        write_model(tmp_path / "models", f"cars-{number}", tier="compact")
        known[f"cars-{number}"] = profile(0.9 - number / 10, accuracy=0.73 - number / 1000)
    assert len(models_of(tmp_path, catalogue, "auto", known)[0]) == MOST_MODELS


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("{task: cart}", "nodes[1].model: unknown model 'cart'"),
        ("{task: cars, accuracy: 2}", "accuracy: 2 should be less than or equal to 1; a model is needed as {task:"),
        ("{tusk: cars}", "tusk: unknown key; did you mean 'task'? allowed: task, accuracy, latency_ms, cost_ms, "),
        ("{task: [cars]}", "task: should be text; put it in quotes; a model is needed as {task: NAME, accuracy: 0.95}"),
    ],
)
def test_needs_that_cannot_be_met_are_problems(model: str, message: str, tmp_path: Path, catalogue: Catalogue) -> None:
    _, told = models_of(tmp_path, catalogue, model)
    assert message in "\n".join(told)


def test_auto_asks_which_where_there_are_several(tmp_path: Path, catalogue: Catalogue) -> None:
    write_model(tmp_path / "models", "vans", tier="reference")
    _, (told,) = models_of(tmp_path, catalogue, "auto")
    assert "say {task: NAME}; allowed: cars, vans" in told


@pytest.mark.parametrize(
    ("needs", "listed"),
    [
        ("{task: cars, accuracy: 0.9, latency_ms: 3.5}", ("cars", "cars@onnxruntime-int8", "cars-compact")),
        ("{task: cars, accuracy: 0.9, cost_ms: 2}", ("cars", "cars-compact")),
        ("{task: cars, accuracy: 0.9, latency_ms: 0.5}", ("cars",)),
    ],
)
def test_models_that_take_too_long_or_cost_too_much_are_not_listed(
    needs: str, listed: tuple[str, ...], tmp_path: Path, catalogue: Catalogue
) -> None:
    """The oracle stays: the others are compared with it."""
    assert models_of(tmp_path, catalogue, needs) == (listed, [])


def test_a_node_keeps_what_it_needs(tmp_path: Path) -> None:
    node = RecogniseNode.model_validate(
        {"name": "n", "task": "recognise", "input": "frame", "model": {"task": "cars", "latency_ms": 3}}
    )
    needs = needs_of(node.models)
    assert needs is not None
    assert (node.needs, needs.task, needs.accuracy, needs.latency_ms, needs.cost_ms) == (None, "cars", None, 3.0, None)
    listed = node.listing(needs, ("cars", "cars-compact"))
    assert (listed.needs, listed.models) == (needs, ("cars", "cars-compact"))
    assert node.models != listed.models


def test_names_are_no_needs() -> None:
    assert needs_of(["vehicle-type"]) is None
    assert needs_of(["auto", "other"]) is None
    assert needs_of(["auto"]) is not None
