"""Exits as bytes: what is written is read, and nothing else is."""

from __future__ import annotations

import tracemalloc

import msgspec
import numpy as np
import pytest
from safetensors.numpy import load, save

from cache_adapt.learned.artefact import MOST_BYTES, MOST_EXITS, ExitArtefact
from cache_adapt.learned.fit import fit
from cache_adapt.learned.rows import FOLDS
from serving.errors import ModelError
from tests.cache_adapt.learned.taught import SHA, SPEC, exits, in_folds, samples
from tests.serving.tensor_files import ODD

ARTEFACT = exits(200).tuned((0.25, 0.125), (0.2, 0.3), 0.9)


def test_a_round_trip_changes_no_word():
    again, rows = ExitArtefact.from_bytes(ARTEFACT.to_bytes()), samples(300, seed=1)
    assert again.card == ARTEFACT.card
    assert (again.card.agreement, again.card.exits[1].hit_rate) == (0.9, 0.3)
    assert again.to_bytes() == ARTEFACT.to_bytes()
    for one, other, tap in zip(ARTEFACT.exits, again.exits, rows.taps, strict=True):
        assert (one.tensor, one.seen, one.threshold) == (other.tensor, other.seen, other.threshold)
        np.testing.assert_array_equal(one.words(tap).words, other.words(tap).words)
        np.testing.assert_allclose(one.words(tap).errors, other.words(tap).errors, atol=0.02)
        assert other.layer[0].dtype == np.float32


def test_exits_of_folds_come_back_with_the_others():
    made, rows = fit("vehicle", SHA, SPEC, in_folds(samples(200))), samples(50, seed=1)
    again = ExitArtefact.from_bytes(made.to_bytes())
    assert again.card == made.card
    for fold in range(FOLDS):
        for one, other, tap in zip(made.unseen(fold), again.unseen(fold), rows.taps, strict=True):
            np.testing.assert_allclose(one.words(tap).errors, other.words(tap).errors, atol=0.02)
    assert made.tuned((0.1, 0.1), (0.2, 0.2), 0.9).folds == (), "their thresholds are not tuned any more"


def changed(**fields: object) -> bytes:
    """With another card, unchecked."""
    tensors = load(ARTEFACT.to_bytes())
    card = msgspec.to_builtins(ARTEFACT.card) | fields
    tensors["card"] = np.frombuffer(msgspec.json.encode(card), np.uint8)
    return save(tensors)


@pytest.mark.parametrize(
    "fields",
    [
        {"schema": "sluice.exits/1"},
        {"vocabulary": {"labels": 3, "least_confidence": 0.6}},
        {"vocabulary": {"labels": 10**9, "least_confidence": 0.6}},
        {"model_identity": "no"},
        {"agreement": 2},
        {"more": 1},
        {"model": "new\nline"},
        {"exits": []},
        {"samples": 0},
        {"folds": 1},
        {"folds": FOLDS},
        {"folds": 10**9},
    ],
    ids=lambda fields: str(fields)[:40],
)
def test_a_wrong_card_is_refused(fields):
    with pytest.raises(ModelError, match="learned exits are damaged"):
        ExitArtefact.from_bytes(changed(**fields))


@pytest.mark.parametrize(
    "wrong",
    [
        {"grid": [60000, 60000, 9]},
        {"architecture": "FC(64)"},
        {"architecture": "Evil(64)"},
        {"threshold": 7},
        {"selector": True},
        {"soft": []},
        {"seen": [0]},
        {"seen": [0, 1, 2]},
        {"seen": [0, 2, 1, 4]},
        {"seen": [0, 1, 2, 5]},
        {"seen": [0, 1, 1, 4]},
        {"soft": [0]},
        {"soft": [-1]},
        {"soft": [4]},
        {"tensor": "late"},
    ],
    ids=str,
)
def test_a_wrong_exit_in_the_card_is_refused(wrong):
    one, other = (msgspec.to_builtins(each) for each in ARTEFACT.card.exits)
    with pytest.raises(ModelError):
        ExitArtefact.from_bytes(changed(exits=[one | wrong, other]))


@pytest.mark.parametrize("grid", [(1, 256, 256), (65536, 65536, 65536), (2, 32, 33)])
def test_a_card_that_makes_too_much_is_refused_before_anything_is_run(grid):
    one = msgspec.to_builtins(ARTEFACT.card.exits[0]) | {"grid": grid}
    data = changed(exits=[one | {"tensor": str(each)} for each in range(MOST_EXITS)])
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match="there is no tap"):
            ExitArtefact.from_bytes(data)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < (1 << 20) + 2 * len(data)


def test_parts_that_are_no_numbers_are_missing_or_of_another_type_are_refused():
    tensors, name = load(ARTEFACT.to_bytes()), "0.predictor.output.bias"
    rest = {each: part for each, part in tensors.items() if each != name}
    for wrong in ({}, {name: np.full_like(tensors[name], np.nan)}, {name: tensors[name].astype(np.float64)}):
        with pytest.raises(ModelError, match="damaged"):
            ExitArtefact.from_bytes(save(rest | wrong))


def test_garbage_and_too_much_are_refused_unread():
    for garbage in (*ODD.values(), b"", save({"card": np.zeros(3)}), save({}), ARTEFACT.to_bytes()[:100]):
        with pytest.raises(ModelError, match="damaged"):
            ExitArtefact.from_bytes(garbage)
    with pytest.raises(ModelError, match="more than the"):
        ExitArtefact.from_bytes(bytes(MOST_BYTES + 1))


def test_a_changed_byte_is_refused_or_read_as_numbers():
    data, rng = ARTEFACT.to_bytes(), np.random.default_rng(0)
    tap = samples(5).taps[0]
    for place in rng.integers(0, len(data), 200).tolist():
        broken = bytearray(data)
        broken[place] ^= 1 << int(rng.integers(8))
        try:
            read = ExitArtefact.from_bytes(bytes(broken))
        except ModelError:
            continue
        assert read.exits[0].at(1.0).look(tap).distribution.shape == (5, 4)
