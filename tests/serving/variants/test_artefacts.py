from __future__ import annotations

from pathlib import Path

import pytest

from serving.catalogue.lookup import Catalogue, Entry
from serving.errors import ModelError
from serving.variants import artefacts
from serving.variants.artefacts import Calibration, artefact, build, folder, resolve
from serving.variants.variant import Variant, parse, reference
from tests.serving.graphs.onnx_graphs import entry, pictures

INT8 = Variant("small", "onnxruntime", "int8")
DATA, OTHER = Calibration(pictures(8), "data"), Calibration(pictures(8), "other")


@pytest.fixture
def small(tmp_path: Path) -> Entry:
    return entry(tmp_path / "models")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_int8_needs_pictures(small: Entry, cache: Path) -> None:
    with pytest.raises(ModelError, match="int8 needs pictures to be calibrated on"):
        build(small, INT8, cache)


def test_the_reference_runs_from_the_models_own_file(small: Entry, cache: Path) -> None:
    for variant in (reference("small"), Variant("small", "openvino", "bf16")):
        assert build(small, variant, cache, DATA) == artefact(small, variant, cache) == small.path
    assert not cache.exists()


def test_a_variant_is_built_once_for_all_engines(small: Entry, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build(small, INT8, cache, DATA)
    assert path == folder(cache, small) / "int8.onnx"
    assert path.parent == cache / "variants" / f"small-{small.card.identity[:12]}"
    monkeypatch.setattr(artefacts, "_made", lambda *_: pytest.fail("built again"))
    assert build(small, Variant("small", "openvino", "int8", max_batch=4), cache, DATA) == path
    assert artefact(small, INT8, cache) == path


def test_int8_is_built_again_for_other_data_or_where_that_is_asked_for(small: Entry, cache: Path) -> None:
    first = build(small, INT8, cache, DATA).read_bytes()
    assert build(small, INT8, cache, Calibration(pictures(8, seed=5) * 3, "other")).read_bytes() != first
    path = build(small, INT8, cache, OTHER)
    before = path.stat().st_mtime_ns
    build(small, INT8, cache, OTHER)
    assert path.stat().st_mtime_ns == before
    build(small, INT8, cache, OTHER, again=True)
    assert path.stat().st_mtime_ns != before


def test_a_cut_off_file_is_refused_and_built_again(small: Entry, cache: Path) -> None:
    path = build(small, INT8, cache, DATA)
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    with pytest.raises(ModelError, match=r"\(100 bytes\) is damaged.*sluice models profile small --again"):
        artefact(small, INT8, cache)
    assert build(small, INT8, cache, DATA).read_bytes() == whole


@pytest.mark.parametrize("gone", ["int8.onnx", "int8.onnx.json"])
def test_what_is_not_built_says_how_to_build_it(small: Entry, cache: Path, gone: str) -> None:
    with pytest.raises(ModelError, match=r"'small@onnxruntime-int8' is not built yet; .*sluice models profile small$"):
        artefact(small, INT8, cache)
    (build(small, INT8, cache, DATA).parent / gone).unlink()
    with pytest.raises(ModelError, match="is not built yet"):
        artefact(small, INT8, cache)


def test_other_weights_have_another_folder(small: Entry, cache: Path) -> None:
    changed = Entry(small.card.model_copy(update={"sha256": "0" * 64}), small.directory)
    assert folder(cache, changed) != folder(cache, small)


@pytest.mark.parametrize("change", [{"detail": 24}, {"mean": (0.5, 0.5, 0.5)}, {"width": 16, "height": 16}])
def test_what_was_built_for_another_input_is_not_found(small: Entry, cache: Path, change: dict[str, object]) -> None:
    build(small, INT8, cache, DATA)
    shown = small.card.input.model_copy(update=change)
    changed = Entry(small.card.model_copy(update={"input": shown}), small.directory)
    assert artefact(small, INT8, cache).is_file()
    with pytest.raises(ModelError, match=r"'small@onnxruntime-int8' is not built yet; build it with"):
        artefact(changed, INT8, cache)


def test_damaged_weights_are_not_made_into_variants(small: Entry, cache: Path) -> None:
    small.path.write_bytes(small.path.read_bytes()[:-1])
    with pytest.raises(ModelError, match="damaged or another file"):
        build(small, INT8, cache, DATA)
    assert not cache.exists()


def test_a_name_resolves_to_entry_variant_and_file(small: Entry, cache: Path) -> None:
    catalogue = Catalogue([small.directory.parent])
    assert resolve("small", catalogue, cache) == artefacts.ResolvedModel("small", small, reference("small"), small.path)
    path = build(small, INT8, cache, DATA)
    found = resolve(f"{INT8.id}-batch4", catalogue, cache)
    assert (found.entry, found.variant, found.path) == (small, parse(f"{INT8.id}-batch4"), path)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("smal", "unknown model 'smal'; did you mean 'small'"),
        ("smal@onnxruntime-fp32", "unknown model 'smal'"),
        ("small@onnxruntime-bf16", "onnxruntime does not run bf16"),
        ("small@openvino-int8", "is not built yet"),
    ],
)
def test_names_that_lead_nowhere(small: Entry, cache: Path, name: str, problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        resolve(name, Catalogue([small.directory.parent]), cache)
