"""A contest runs the network and its variants on the same pictures, and says what each costs and answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from serving.catalogue.lookup import SHIPPED, Catalogue
from serving.common.tensors import Array
from serving.errors import SluiceError
from serving.profiling import contest as holding
from serving.profiling.agreement import same_class
from serving.profiling.contest import ContestItems, held
from serving.variants.artefacts import Calibration, build, folder
from serving.variants.contest import read, store
from serving.variants.variant import Variant

ENTRY = Catalogue([SHIPPED]).find("vehicle-colour")
INT8 = Variant("vehicle-colour", "onnxruntime", "int8")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "BUDGET_S", 0.05)


def pictures(count: int = 32) -> Array:
    found: Array = np.random.default_rng(0).normal(size=(count, *ENTRY.card.input.item_shape)).astype(np.float32)
    return found


def stage(cache: Path, count: int = 32, agree: holding.Agree = same_class) -> ContestItems:
    return ContestItems(ENTRY, pictures(count), None, agree, cache)


def test_an_int8_variant_is_made_of_what_was_shown_and_measured(tmp_path: Path) -> None:
    found = held(stage(tmp_path), [INT8])
    (only,) = found.contenders
    assert (only.variant, only.refused, found.items) == (INT8.id, "", 16)
    assert only.processor_s > 0
    assert found.processor_s > 0
    assert only.load_s > 0
    assert 0 < only.agreement <= 1
    store(found, ENTRY, tmp_path)
    assert read(ENTRY, tmp_path) == found


def test_a_file_that_was_built_before_is_used_as_it_is(tmp_path: Path) -> None:
    path = build(ENTRY, INT8, tmp_path, Calibration(pictures(8), "a" * 64))
    before = path.read_bytes()
    held(stage(tmp_path), [INT8])
    assert path.read_bytes() == before
    path.write_bytes(before[:-5])
    assert held(stage(tmp_path), [INT8]).contenders[0].refused == ""
    assert path.read_bytes() != before[:-5]


def test_a_variant_that_cannot_run_here_is_refused_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bf16, opened = Variant("vehicle-colour", "openvino", "bf16"), holding.open_group

    def failing(sources: list[holding.ResolvedModel], threads: int) -> holding.Group:
        if sources[0].variant == bf16:
            raise RuntimeError("this processor\ndoes not compute in bf16")
        return opened(sources, threads)

    monkeypatch.setattr(holding, "open_group", failing)
    first, second = held(stage(tmp_path), [bf16, INT8]).contenders
    assert first.refused.startswith("this processor")
    assert (second.refused, second.variant) == ("", INT8.id)


def test_where_nothing_can_be_written_what_must_be_built_is_refused(tmp_path: Path) -> None:
    (tmp_path / "variants").write_text("a file where a folder should be")
    (only,) = held(stage(tmp_path), [INT8]).contenders
    assert "cannot be written" in only.refused


def test_too_few_pictures_that_tell_anything_are_no_contest(tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="found something on 7 pictures, 8 are the least"):
        held(stage(tmp_path, 14), [INT8])

    def silent(reference: object, found: list[Array]) -> Array:
        return np.full(len(found[0]), np.nan)

    with pytest.raises(SluiceError, match="on 0 pictures"):
        held(stage(tmp_path, agree=silent), [INT8])
    assert not (folder(tmp_path, ENTRY) / "int8.onnx").exists()
