from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result

from pipelines.commands.models import command
from serving.catalogue.lookup import Catalogue, Entry
from serving.errors import ModelError
from serving.profiling import profiler as profiling
from serving.profiling.footprint import Footprint
from serving.variants.artefacts import folder, resolve
from serving.variants.profiles import read, store
from serving.variants.variant import reference
from tests.serving.graphs.onnx_graphs import CLASSES, entry


@pytest.fixture(autouse=True)
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("SLUICE_MODELS", raising=False)
    monkeypatch.setattr(profiling, "footprint", lambda *_: Footprint(0.25, 3_000_000))


@pytest.fixture
def small(tmp_path: Path) -> Entry:
    return entry(tmp_path / "m")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in CLASSES:
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(4):
            image = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
            cv2.imwrite(str(tmp_path / "photos" / name / f"{number}.png"), image)
    return tmp_path / "photos"


def profile(small: Entry, photos: Path, *arguments: str) -> Result:
    """``sluice models profile`` in little time; raises what it raises."""
    common = ["profile", "small", "--models", str(small.directory.parent), "--data", str(photos)]
    brief = ["--engines", "onnxruntime", "--budget-s", "0.1", "--max-batch", "2"]
    result = CliRunner().invoke(command, [*common, *brief, *arguments], catch_exceptions=False)
    if result.exception is not None:
        raise result.exception
    return result


def rows(small: Entry, photos: Path, *arguments: str) -> Any:
    return json.loads(profile(small, photos, "--json", *arguments).stdout)[0]


def test_variants_are_measured_kept_and_can_be_named(small: Entry, photos: Path, tmp_path: Path) -> None:
    known = rows(small, photos)
    names = [row["variant"] for row in known["variants"]]
    stems = ("fp32", "int8")
    assert names == [f"small@onnxruntime-{stem}" for stem in stems]
    first = known["variants"][0]
    assert (first["agreement"], first["memory_bytes"], first["items"]) == (1.0, 3_000_000, 6)
    assert list(first["latency_s"]) == ["1", "2"]
    assert any(row["pareto"] for row in known["variants"])
    assert known["reused"] == 0
    for name in names:
        found = resolve(name, Catalogue([small.directory.parent]), tmp_path / "cache")
        assert found.path.is_file()
        assert read(folder(tmp_path / "cache", small), found.variant) is not None


def test_a_table_says_the_same(small: Entry, photos: Path) -> None:
    shown = profile(small, photos).stdout
    assert "small: 6 items of photos" in shown
    assert "onnxruntime-int8" in shown
    assert "ℓ(1) ms" in shown


def test_what_is_fresh_is_not_measured_again(small: Entry, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows(small, photos)
    monkeypatch.setattr("pipelines.measure.profile_models.Profiler", lambda *_: pytest.fail("measured again"))
    after = rows(small, photos)
    assert after["reused"] == 2
    assert after["variants"] == before["variants"]


def test_again_measures_again(small: Entry, photos: Path) -> None:
    assert rows(small, photos)["reused"] == 0
    assert rows(small, photos, "--again")["reused"] == 0


def test_what_is_stale_is_measured_anew_and_says_why(small: Entry, photos: Path, tmp_path: Path) -> None:
    rows(small, photos)
    kept = folder(tmp_path / "cache", small)
    was = read(kept, reference("small"))
    assert was is not None
    other = msgspec.structs.replace(was.fingerprint, processor="Another")
    store(msgspec.structs.replace(was, fingerprint=other), kept)
    (kept / "onnxruntime-int8.json").write_bytes(b"{")
    result = profile(small, photos)
    assert f"fp32 is measured anew (processor: was Another, is {was.fingerprint.processor})" in result.stderr
    assert "onnxruntime-int8.json: not a profile" in result.stderr
    assert rows(small, photos)["reused"] == 2


def test_other_data_and_batches_are_measured_anew(small: Entry, photos: Path) -> None:
    rows(small, photos)
    assert "max-batch: was 2, is 4" in profile(small, photos, "--max-batch", "4").stderr
    (photos / "red" / "0.png").unlink()
    assert "data: the pictures of photos have changed" in profile(small, photos).stderr


def test_an_engine_that_is_not_installed_is_one_line(
    small: Entry, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.measure.profile_models.installed", lambda engine: engine != "openvino")
    result = profile(small, photos, "--engines", "onnxruntime,openvino", "--precisions", "fp32")
    assert result.stderr == (
        "openvino is not installed, its variants are skipped: pip install 'sluice-video[openvino]'\n"
    )


def test_a_precision_that_the_engine_has_not_leaves_the_reference(small: Entry, photos: Path) -> None:
    known = rows(small, photos, "--precisions", "bf16")
    assert [row["variant"] for row in known["variants"]] == ["small@onnxruntime-fp32"]


def test_a_variant_that_cannot_be_built_is_skipped(small: Entry, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *_: object) -> None:
        raise ModelError(f"model {name!r} cannot be quantised: no")

    monkeypatch.setattr("serving.graphs.quantise.quantised", refuse)
    known = rows(small, photos)
    assert known["notes"] == ["small@onnxruntime-int8 is skipped: model 'small' cannot be quantised: no"]
    assert len(known["variants"]) == 1


def test_the_cards_batch_limit_binds(tmp_path: Path, photos: Path) -> None:
    bounded = entry(tmp_path / "bounded", max_batch=1)
    known = rows(bounded, photos, "--precisions", "fp32")
    assert list(known["variants"][0]["latency_s"]) == ["1"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--engines", "onnxruntme"], "unknown 'onnxruntme'; did you mean 'onnxruntime'"),
        (["--precisions", "fp8"], "unknown 'fp8'"),
        (["--max-batch", "0"], "--max-batch"),
    ],
)
def test_wrong_options(small: Entry, photos: Path, arguments: list[str], problem: str) -> None:
    common = ["profile", "small", "--models", str(small.directory.parent), "--data", str(photos)]
    result = CliRunner().invoke(command, [*common, *arguments])
    assert result.exit_code == 2
    assert problem in result.stderr


def test_damaged_weights_end_the_command(small: Entry, photos: Path) -> None:
    small.path.write_bytes(b"cut")
    with pytest.raises(ModelError, match="damaged"):
        profile(small, photos)
