"""The arithmetic of the benchmark of engines, and the weights it gives back to modules; no clock is asserted on."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from matplotlib.figure import Figure

from benchmarks.engines import case_rows, draw, headline
from benchmarks.engines_parts.cases import Case
from benchmarks.engines_parts.contest import EAGER, EMULATED, REFERENCE, Result, Way
from benchmarks.engines_parts.fill import fill, module_of, normalisation_of
from benchmarks.engines_parts.overlap import head_overlap
from serving.catalogue.lookup import SHIPPED
from tools.shipped.recipes import RECIPES, Recipe

NOTHING = np.zeros((0, 3, 4, 4), np.float32)


def rows_of(**results: Result) -> list[dict[str, object]]:
    ways = {
        "eager": EAGER,
        "default": REFERENCE,
        "other": Way("openvino", "fp32"),
        "int8": Way("openvino", "int8"),
        "bf16": EMULATED,
    }
    case = Case("net", onnx.ModelProto(), None, NOTHING, NOTHING)
    return [dict(row) for row in case_rows(case, {ways[name]: result for name, result in results.items()})]


def took(one_s: float, eight_s: float, agreement: float | None = 1.0) -> Result:
    return Result({1: one_s, 8: eight_s}, agreement, 100)


def test_the_headline_compares_with_the_quickest_engine_and_with_the_baseline() -> None:
    rows = rows_of(
        eager=took(0.8, 3.2), default=took(0.4, 0.8), other=took(0.2, 1.6), int8=took(0.1, 0.4, agreement=0.98)
    )
    assert headline(rows) == {
        "default_over_best": pytest.approx(2**0.5, abs=1e-3),
        "default_over_best_at_worst": 2.0,
        "speedup_fp32": 4.0,
        "speedup_bf16": None,
        "speedup_int8": 8.0,
        "agreement_bf16": None,
        "agreement_int8": 0.98,
    }


def test_what_is_not_timed_has_an_agreement_all_the_same() -> None:
    rows = rows_of(eager=took(0.8, 3.2), default=took(0.4, 0.8), bf16=Result({}, 0.97, 20))
    assert headline(rows)["agreement_bf16"] == 0.97
    assert headline(rows)["speedup_bf16"] is None
    (row, _) = [row for row in rows if row["precision"] == "bf16"]
    assert (row["latency_ms"], row["speedup_over_eager"], row["agreement_items"]) == (None, None, 20)


def test_a_network_without_a_baseline_counts_among_engines() -> None:
    rows = rows_of(default=took(0.4, 0.8, agreement=None), other=took(0.2, 0.4, agreement=None))
    assert headline(rows)["default_over_best"] == 2.0
    assert headline(rows)["speedup_fp32"] is None


def test_the_drawing_takes_rows_with_gaps() -> None:
    rows = rows_of(eager=took(0.8, 3.2), default=took(0.4, 0.8), bf16=Result({}, 0.97, 20))
    figure = Figure()
    draw(rows, figure)
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["eager fp32", "onnxruntime fp32"]


def test_nodes_name_their_modules() -> None:
    assert module_of("/conv1/Conv") == "conv1"
    assert module_of("/layer4/layer4.0/conv2/Conv") == "layer4.0.conv2"
    assert module_of("/layer4/layer4.0/downsample/downsample.0/Conv") == "layer4.0.downsample.0"
    assert normalisation_of("layer4.0.conv2") == "layer4.0.bn2"
    assert normalisation_of("layer4.0.downsample.0") == "layer4.0.downsample.1"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_shipped_networks_module_answers_as_its_export(recipe: Recipe) -> None:
    model = onnx.load(SHIPPED / recipe.name / "model.onnx")
    module = fill(recipe.build().fold(), model)
    batch = np.random.default_rng(0).normal(size=(2, 3, recipe.side, recipe.side)).astype(np.float32)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(["logits"], {session.get_inputs()[0].name: batch})[0]
    with torch.inference_mode():
        np.testing.assert_allclose(module(torch.from_numpy(batch)).numpy(), wanted, atol=1e-4)


def test_heads_can_be_run_at_once() -> None:
    assert head_overlap("cpu", rounds=1) > 0
