from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from pipelines.commands.models import command
from serving.errors import BadInput
from serving.variants.artefacts import folder
from serving.variants.profiles import Profile, fingerprint, store
from tests.models import mean_model


class Shelf:
    """Two models with profiles of some variants."""

    def __init__(self, tmp_path: Path) -> None:
        self.models, self.cache = tmp_path / "models", tmp_path / "cache"
        mean_model(self.models, "big")
        self.catalogue = mean_model(self.models, "small")

    def profile(self, model: str, variant: str, ms: float, agreement: float, **changes: Any) -> None:
        entry = self.catalogue.find(model)
        profile = Profile(
            variant=f"{model}@onnxruntime-{variant}",
            model_sha256=entry.card.sha256,
            fingerprint=fingerprint("onnxruntime"),
            latency_s={1: ms / 1e3, 4: ms / 500},
            latency_p95_s={1: ms / 1e3, 4: ms / 500},
            load_s=0.1,
            memory_bytes=1000,
            accuracy=None,
            agreement=agreement,
            items=100,
            data="a test",
            data_sha256="0" * 64,
            measured_at="2026-01-01T00:00:00Z",
        )
        store(msgspec.structs.replace(profile, **changes), folder(self.cache, entry))

    def select(self, *arguments: str) -> Result:
        environ = {"SLUICE_CACHE": str(self.cache)}
        given = ["select", *arguments, "--models", str(self.models)]
        return CliRunner().invoke(command, given, env=environ, catch_exceptions=True)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    shelf.profile("big", "fp32", 20.0, 1.0)
    shelf.profile("big", "int8", 5.0, 0.96)
    return shelf


def test_the_fastest_variant_that_is_accurate_enough(shelf: Shelf) -> None:
    fast = shelf.select("big", "--accuracy", "0.95")
    assert fast.output.splitlines()[:2] == [
        "big@onnxruntime-int8",
        "ℓ(1) 5.00 ms, agreement 0.960, 2.50 ms of the device per item",
    ]
    exact = json.loads(shelf.select("big", "--accuracy", "0.97", "--json").output)
    assert (exact["variant"], exact["meets"], exact["agreement"]) == ("big@onnxruntime-fp32", True, 1.0)


def test_a_batch_takes_longer(shelf: Shelf) -> None:
    chosen = json.loads(shelf.select("big", "--batch", "4", "--latency-ms", "12", "--json").output)
    assert (chosen["variant"], chosen["latency_ms"]) == ("big@onnxruntime-int8", 10.0)


def test_where_none_will_do_the_closest_is_named_with_what_it_lacks(shelf: Shelf) -> None:
    result = shelf.select("big", "--accuracy", "0.99", "--latency-ms", "10")
    assert result.exit_code == 1
    assert "no variant meets all requirements; of the closest the accuracy of 0.96 is 0.03 below 0.99" in result.output


def test_models_are_compared_by_accuracy_on_the_same_labels(shelf: Shelf) -> None:
    shelf.profile("small", "fp32", 2.0, 1.0)
    result = shelf.select("big", "small")
    assert isinstance(result.exception, BadInput)
    assert "only by their accuracy on the same labelled pictures" in str(result.exception)
    for model, variant, ms, accuracy in (
        ("big", "fp32", 20.0, 0.9),
        ("big", "int8", 5.0, 0.89),
        ("small", "fp32", 2.0, 0.8),
    ):
        shelf.profile(model, variant, ms, 1.0, accuracy=accuracy)
    chosen = json.loads(shelf.select("big", "small", "--accuracy", "0.85", "--json").output)
    assert (chosen["variant"], chosen["accuracy"]) == ("big@onnxruntime-int8", 0.89)


def test_what_was_never_measured_says_how_to(shelf: Shelf) -> None:
    result = shelf.select("small")
    assert str(result.exception) == "'small' has not been measured here: run 'sluice models profile small' first"


def test_profiles_of_another_machine_are_not_used(shelf: Shelf) -> None:
    other = msgspec.structs.replace(fingerprint("onnxruntime"), cores=999)
    shelf.profile("small", "fp32", 2.0, 1.0, fingerprint=other)
    result = shelf.select("small")
    assert str(result.exception) == "the profiles of 'small' are stale: run 'sluice models profile small' first"
