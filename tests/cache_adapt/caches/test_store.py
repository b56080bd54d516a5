"""Files of caches: what is written is read, and nothing else is."""

from __future__ import annotations

import tracemalloc

import msgspec
import numpy as np
import pytest
from safetensors.numpy import load, save

from cache_adapt.caches.learned_cache import LearnedCache
from cache_adapt.caches.store import MOST_BYTES, MOST_CACHES, BuiltCaches, Card, cards, digest, read, write
from cache_adapt.caches.training import train_predictor, train_selector
from serving.errors import ModelError
from tests.cache_adapt.caches.made import CLASSES, SHA, lessons
from tests.serving.tensor_files import ODD


@pytest.fixture(scope="module")
def built() -> BuiltCaches:
    known, rng = lessons(1.2, 200), np.random.default_rng(0)
    first = train_predictor("FC(64)", known, rng)
    selector = train_selector(first.probabilities(known.features), known.answers >= 1, rng)
    caches = (
        LearnedCache("layer1", first, selector, 0.25),
        LearnedCache("layer2", train_predictor("Conv(3,1)", known, rng), None, 0.125),
    )
    card = Card("sluice.caches/1", "vehicle", SHA, CLASSES, 0.97, "inputs", 200, 1.4, cards(caches, (0.2, 0.3)))
    return BuiltCaches(card, caches)


def test_a_round_trip_changes_no_answer(built, tmp_path):
    version = write(tmp_path / "caches.safetensors", built)
    again = read(tmp_path / "caches.safetensors", "vehicle", SHA)
    assert again is not None
    assert again.card == built.card
    assert version == digest((tmp_path / "caches.safetensors").read_bytes())
    features = lessons(1.2, 50).features
    for one, other in zip(built.caches, again.caches, strict=True):
        assert one.tensor == other.tensor
        np.testing.assert_array_equal(one.look(features).distribution, other.look(features).distribution)
        np.testing.assert_array_equal(one.look(features).hit, other.look(features).hit)


def test_nothing_is_not_an_error(tmp_path):
    assert read(tmp_path / "none.safetensors", "vehicle", SHA) is None


def test_a_changed_byte_is_found(built, tmp_path):
    path = tmp_path / "caches.safetensors"
    write(path, built)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ModelError, match="sha256 is not the one beside it"):
        read(path, "vehicle", SHA)


def test_caches_of_other_weights_are_refused(built, tmp_path):
    write(tmp_path / "caches.safetensors", built)
    with pytest.raises(ModelError, match=r"made for other weights.* build them with: sluice caches build vehicle$"):
        read(tmp_path / "caches.safetensors", "vehicle", "cd" * 32)
    with pytest.raises(ModelError, match="made for vehicle, not for vehicle@onnxruntime-int8; build"):
        read(tmp_path / "caches.safetensors", "vehicle@onnxruntime-int8", "cd" * 32)


def changed(built: BuiltCaches, **fields: object) -> bytes:
    """With another card, unchecked."""
    tensors = load(built.to_bytes())
    card = msgspec.to_builtins(built.card) | fields
    tensors["card"] = np.frombuffer(msgspec.json.encode(card), np.uint8)
    return save(tensors)


@pytest.mark.parametrize(
    "fields",
    [
        {"schema": "sluice.caches/2"},
        {"classes": 5},
        {"classes": 10**9},
        {"model_identity": "no"},
        {"agreement": 2},
        {"more": 1},
        {"model": "new\nline"},
        {"caches": []},
    ],
    ids=lambda fields: str(fields)[:30],
)
def test_a_wrong_card_is_refused(built, fields):
    with pytest.raises(ModelError, match="learned caches are damaged"):
        BuiltCaches.from_bytes(changed(built, **fields))


def test_a_wrong_cache_in_the_card_is_refused(built):
    one, other = (msgspec.to_builtins(each) for each in built.card.caches)
    for wrong in ({"grid": [60000, 60000, 9]}, {"architecture": "FC(128)"}, {"threshold": 7}, {"selector": False}):
        with pytest.raises(ModelError):
            BuiltCaches.from_bytes(changed(built, caches=[one | wrong, other]))


@pytest.mark.parametrize(
    ("architecture", "grid"),
    [
        ("Conv(128,1)", (1, 256, 256)),  # 17 thousand pieces of 16 thousand values
        ("Conv(1,1)", (1, 256, 256)),  # 66 thousand pieces, with 16 values of the hidden layer each
        ("FC(8192)", (16, 256, 256)),
        ("Pool(8192)", (2, 256, 256)),
        ("Conv(9,1)", (4, 8, 8)),
        ("Pool(3)", (4, 8, 8)),
    ],
)
def test_a_card_that_makes_too_much_is_refused_before_anything_is_run(built, architecture, grid):
    cache = msgspec.to_builtins(built.card.caches[0]) | {"architecture": architecture, "grid": grid}
    data = changed(built, caches=[cache] * MOST_CACHES)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match="cannot read"):
            BuiltCaches.from_bytes(data)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < (1 << 20) + 2 * len(data)


def test_tensors_that_are_no_numbers_or_are_missing_are_refused(built):
    tensors = load(built.to_bytes())
    with pytest.raises(ModelError, match="damaged"):
        BuiltCaches.from_bytes(
            save({name: part for name, part in tensors.items() if name != "0.predictor.output.bias"})
        )
    broken = tensors | {"0.predictor.output.bias": np.full(CLASSES, np.nan, np.float32)}
    with pytest.raises(ModelError, match="damaged"):
        BuiltCaches.from_bytes(save(broken))


def test_garbage_and_too_much_are_refused_unread(built):
    for garbage in (*ODD.values(), save({"card": np.zeros(3)}), save({}), built.to_bytes()[:100]):
        with pytest.raises(ModelError, match="damaged"):
            BuiltCaches.from_bytes(garbage)
    with pytest.raises(ModelError, match="more than the"):
        BuiltCaches.from_bytes(bytes(MOST_BYTES + 1))


def test_weights_take_half_as_much_on_the_wire_and_say_the_same(built):
    half = built.to_bytes(half=True)
    assert len(half) < 0.6 * len(built.to_bytes())
    again, features = BuiltCaches.from_bytes(half), lessons(1.0, 200).features
    assert again.card == built.card
    for cache, known in zip(again.caches, built.caches, strict=True):
        assert cache.predictor.output[0].dtype == np.float32
        np.testing.assert_allclose(cache.look(features).distribution, known.look(features).distribution, atol=0.01)


def test_weights_of_another_type_are_refused(built):
    tensors = load(built.to_bytes())
    wide = tensors["0.predictor.output.bias"].astype(np.float64)
    with pytest.raises(ModelError, match="float64"):
        BuiltCaches.from_bytes(save(tensors | {"0.predictor.output.bias": wide}))
