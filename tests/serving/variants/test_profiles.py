from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from serving.errors import ModelError
from serving.variants.profiles import Fingerprint, Profile, fingerprint, installed, path_of, read, store
from serving.variants.variant import Variant

HERE = Fingerprint("Some CPU avx2", 2, 24, "openvino 2026.4.1")
VARIANT = Variant("m", "openvino", "int8")
SHA = "a" * 64


def made(**changes: Any) -> Profile:
    values: dict[str, Any] = {
        "variant": VARIANT.id,
        "model_sha256": SHA,
        "fingerprint": HERE,
        "latency_s": {1: 0.001, 2: 0.0015, 4: 0.002},
        "latency_p95_s": {1: 0.002, 2: 0.0025, 4: 0.003},
        "load_s": 0.1,
        "memory_bytes": 1000,
        "accuracy": None,
        "agreement": 0.99,
        "items": 400,
        "data": "somewhere",
        "data_sha256": "b" * 64,
        "measured_at": "2026-01-01T00:00:00+00:00",
    }
    return Profile(**{**values, **changes})


def test_a_profile_is_read_as_it_was_stored(tmp_path: Path) -> None:
    path = store(made(), tmp_path)
    assert path == path_of(tmp_path, VARIANT) == tmp_path / "openvino-int8.json"
    assert read(tmp_path, VARIANT) == made()
    assert made().max_batch == 4


def test_a_batch_limit_has_the_profile_of_the_variant_without(tmp_path: Path) -> None:
    store(made(), tmp_path)
    assert read(tmp_path, Variant("m", "openvino", "int8", max_batch=2)) == made()


def test_nothing_measured_is_none(tmp_path: Path) -> None:
    assert read(tmp_path, VARIANT) is None


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("processor", "Another", "processor: was Some CPU avx2, is Another"),
        ("cores", 4, "cores: was 2, is 4"),
        ("memory_gib", 8, "memory_gib: was 24, is 8"),
        ("engine", "openvino 2027.0", "engine: was openvino 2026.4.1, is openvino 2027.0"),
    ],
)
def test_a_stale_profile_says_what_changed(field: str, value: object, reason: str) -> None:
    now = msgspec.structs.replace(HERE, **{field: value})
    assert made().stale(SHA, now) == [reason]


def test_other_weights_make_a_profile_stale() -> None:
    assert made().stale(SHA, HERE) == []
    assert made().stale("c" * 64, HERE) == ["model: the weights have changed"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[1]",
        b'{"variant": 1}',
        msgspec.json.encode(made(schema="sluice.profile/9")),
        msgspec.json.encode(made(variant="m@openvino-fp32")),
        msgspec.json.encode(made(latency_s={})),
        msgspec.json.encode({**msgspec.to_builtins(made(), str_keys=True), "more": 1}),
    ],
)
def test_what_is_no_profile_is_one_line(tmp_path: Path, content: bytes) -> None:
    path_of(tmp_path, VARIANT).write_bytes(content)
    with pytest.raises(ModelError, match=r"openvino-int8.json: not a profile.*; measure it with: ") as caught:
        read(tmp_path, VARIANT)
    assert "\n" not in str(caught.value)


def test_this_machine_has_a_fingerprint() -> None:
    here = fingerprint("onnxruntime")
    assert here.cores >= 1
    assert here.memory_gib >= 1
    assert here.processor
    assert here.engine.startswith("onnxruntime")
    assert here.differences(here) == []
    assert installed("onnxruntime")
