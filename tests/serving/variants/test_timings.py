"""What was measured of variants on this machine, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from serving.catalogue.cards import parse_card
from serving.catalogue.lookup import Entry
from serving.errors import ModelError
from serving.variants import profiles, timings
from serving.variants.artefacts import folder
from serving.variants.profiles import Profile, fingerprint
from serving.variants.variant import Variant, reference

SHA = "a" * 64
VARIANT = reference("m")


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    card = parse_card(
        {
            "name": "m",
            "version": "1",
            "task": "classify",
            "file": "net.onnx",
            "sha256": SHA,
            "licence": "Apache-2.0",
            "source": "https://example.org",
            "input": {"width": 4, "height": 4, "colour": "bgr"},
            "classes": ["a", "b"],
        },
        "m",
    )
    return Entry(card, tmp_path / "net.onnx")


def profile(**changes: Any) -> Profile:
    given: dict[str, Any] = {
        "variant": VARIANT.id,
        "model_sha256": SHA,
        "fingerprint": fingerprint("onnxruntime"),
        "latency_s": {1: 0.001},
        "latency_p95_s": {1: 0.002, 4: 0.004},
        "load_s": 0.1,
        "memory_bytes": 1000,
        "accuracy": 0.8,
        "agreement": 0.99,
        "items": 400,
        "data": "somewhere",
        "data_sha256": "b" * 64,
        "measured_at": "2026-01-01T00:00:00+00:00",
    }
    return Profile(**{**given, **changes})


def test_a_profile_tells_tails_and_agreement(entry: Entry, tmp_path: Path) -> None:
    assert timings.measured(entry, VARIANT, tmp_path) is None
    profiles.store(profile(), folder(tmp_path, entry))
    found = timings.measured(entry, VARIANT, tmp_path)
    assert found == timings.VariantFigures({1: 0.002, 4: 0.004}, 0.99, 0.8, "b" * 64)


def test_times_that_were_measured_in_passing_are_kept(entry: Entry, tmp_path: Path) -> None:
    timings.store({1: 0.003}, entry, VARIANT, tmp_path)
    assert timings.measured(entry, VARIANT, tmp_path) == timings.VariantFigures({1: 0.003}, None)
    other = Variant("m", "onnxruntime", "int8")
    assert timings.measured(entry, other, tmp_path) is None
    profiles.store(profile(), folder(tmp_path, entry))
    found = timings.measured(entry, VARIANT, tmp_path)
    assert found is not None
    assert found.agreement == 0.99


def test_the_least_of_several_moments_counts_and_old_ones_are_forgotten(entry: Entry, tmp_path: Path) -> None:
    for tail_s in ({1: 0.053, 2: 0.090}, {1: 0.013, 2: 0.095}):
        timings.store(tail_s, entry, VARIANT, tmp_path)
    assert timings.measured(entry, VARIANT, tmp_path) == timings.VariantFigures({1: 0.013, 2: 0.090}, None, moments=2)
    for _ in range(timings.KEPT):
        timings.store({1: 0.040, 2: 0.080}, entry, VARIANT, tmp_path)
    found = timings.measured(entry, VARIANT, tmp_path)
    assert found == timings.VariantFigures({1: 0.040, 2: 0.080}, None, moments=timings.KEPT)


def test_a_file_of_one_moment_is_one_of_the_moments(entry: Entry, tmp_path: Path) -> None:
    timings.store({1: 0.010}, entry, VARIANT, tmp_path)
    (path,) = folder(tmp_path, entry).glob("*.times.json")
    old = msgspec.json.decode(path.read_bytes())
    del old["moments"]
    path.write_bytes(msgspec.json.encode(old))
    timings.store({1: 0.020}, entry, VARIANT, tmp_path)
    assert timings.measured(entry, VARIANT, tmp_path) == timings.VariantFigures({1: 0.010}, None, moments=2)


def test_moments_of_another_machine_or_that_cannot_be_are_not_counted(entry: Entry, tmp_path: Path) -> None:
    timings.store({1: 0.001}, entry, VARIANT, tmp_path)
    (path,) = folder(tmp_path, entry).glob("*.times.json")
    for changes in ({"model_sha256": "c" * 64}, {"moments": [{"1": -1.0}]}):
        path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | changes))
        timings.store({1: 0.020}, entry, VARIANT, tmp_path)
        assert timings.measured(entry, VARIANT, tmp_path) == timings.VariantFigures({1: 0.020}, None)


def test_a_profile_of_a_loaded_moment_is_corrected_by_a_quieter_one(entry: Entry, tmp_path: Path) -> None:
    loaded = {1: 0.053, 4: 0.200, 8: 0.400, 16: 0.800}
    profiles.store(profile(latency_p95_s=loaded), folder(tmp_path, entry))
    timings.store({1: 0.013, 4: 0.300, 8: 0.100}, entry, VARIANT, tmp_path)
    found = timings.measured(entry, VARIANT, tmp_path)
    assert found is not None
    assert found.tail_s == pytest.approx({1: 0.013, 4: 0.200, 8: 0.100, 16: 0.200})
    assert (found.agreement, found.moments) == (0.99, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"latency_p95_s": {1: 0.0}}, "latency_p95_s is {1: 0.0}, which cannot be"),
        ({"latency_s": {1: -1.0}}, "which cannot be"),
        ({"latency_s": {0: 1.0}}, "which cannot be"),
        ({"latency_p95_s": {}}, "which cannot be"),
        ({"latency_p95_s": {1: 1e9}}, "which cannot be"),
        ({"agreement": 1.5}, "agreement is 1.5, which cannot be"),
        ({"accuracy": -0.1}, "accuracy is -0.1"),
        ({"model_sha256": "c" * 64}, "holds no more .model: the weights have changed.; measure it with: sluice models"),
        ({"fingerprint": msgspec.structs.replace(fingerprint("onnxruntime"), cores=999)}, "cores: was 999, is"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_line(
    changes: dict[str, Any], message: str, entry: Entry, tmp_path: Path
) -> None:
    profiles.store(profile(**changes), folder(tmp_path, entry))
    with pytest.raises(ModelError, match=message) as refused:
        timings.measured(entry, VARIANT, tmp_path)
    assert "\n" not in str(refused.value)
    timings.store({1: 0.003}, entry, VARIANT, tmp_path)
    assert timings.measured(entry, VARIANT, tmp_path) == timings.VariantFigures({1: 0.003}, None)


@pytest.mark.parametrize("figure", [b"NaN", b"null", b"1e999", b'"fast"', b"-1"])
def test_figures_that_are_no_times_are_refused(figure: bytes, entry: Entry, tmp_path: Path) -> None:
    path = profiles.store(profile(), folder(tmp_path, entry))
    path.write_bytes(path.read_bytes().replace(b"0.002", figure))
    with pytest.raises(ModelError, match="sluice models profile m"):
        timings.measured(entry, VARIANT, tmp_path)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"schema": "sluice.timing/1"}', b"\xff"])
def test_a_damaged_note_of_times_is_refused(data: bytes, entry: Entry, tmp_path: Path) -> None:
    timings.store({1: 0.003}, entry, VARIANT, tmp_path)
    (path,) = folder(tmp_path, entry).glob("*.times.json")
    path.write_bytes(data)
    with pytest.raises(ModelError, match="remove it"):
        timings.measured(entry, VARIANT, tmp_path)
    timings.store({1: 0.0}, entry, VARIANT, tmp_path)
    with pytest.raises(ModelError, match="remove it"):
        timings.measured(entry, VARIANT, tmp_path)
