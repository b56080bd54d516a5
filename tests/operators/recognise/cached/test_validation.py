"""The validation set of a network: what is kept is read again, and what is damaged or of another network is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from learning.store import FeatureStore, write_store
from operators.recognise.cached import validation
from operators.recognise.cached.building import CutPlace
from serving.errors import BadInput, ModelError
from tests.operators.recognise.cached.paints import ORACLE_CARD

PLAN = [CutPlace("early", (4, 1, 1), 0.3), CutPlace("late", (2, 1, 1), 0.6)]


def kept(directory: Path, count: int = 30, values: tuple[int, int] = (4, 2)) -> int:
    taps = [np.arange(count)[:, None] + np.zeros((count, some), np.float32) for some in values]
    return validation.write(directory, ORACLE_CARD, PLAN, taps, np.arange(count) % 3)


def test_what_was_kept_is_read(tmp_path):
    assert kept(tmp_path) == 30
    found = validation.read(tmp_path, ORACLE_CARD)
    assert found is not None
    assert (found.directory, found.places) == (tmp_path, PLAN)
    store = FeatureStore.open(tmp_path)
    assert store.features.tolist() == [[float(each)] * 6 for each in range(30)]
    assert store.labels.tolist() == [each % 3 for each in range(30)]


def test_it_is_of_its_places_alone_whatever_share_of_the_work_they_are(tmp_path):
    kept(tmp_path)
    found = validation.read(tmp_path, ORACLE_CARD)
    assert found is not None
    assert found.is_of([replace(cut, share=0.1) for cut in PLAN])
    assert not found.is_of(PLAN[:1])
    assert not found.is_of([PLAN[0], replace(PLAN[1], tensor="later")])
    assert not found.is_of([PLAN[0], replace(PLAN[1], grid=(1, 2, 1))])


def test_of_many_pictures_some_are_kept_evenly_spread(tmp_path):
    assert kept(tmp_path, 3 * validation.MOST_ROWS) == validation.MOST_ROWS
    gaps = np.diff(FeatureStore.open(tmp_path).features[:600, 0].astype(int))
    assert set(gaps.tolist()) == {3}


def test_more_activations_than_can_be_sent_are_not_kept_and_the_old_ones_are_gone(tmp_path):
    kept(tmp_path)
    assert kept(tmp_path, 5, (6144, 1)) == 0
    assert validation.read(tmp_path, ORACLE_CARD) is None


def test_where_there_is_none_there_is_none(tmp_path):
    assert validation.read(tmp_path / "nothing", ORACLE_CARD) is None


def test_a_place_that_cannot_be_written_to_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput):
        kept(tmp_path / "file" / "folder")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[" * 70_000,
        b'{"schema":"sluice.validation/2"}',
        msgspec.json.encode({"schema": "sluice.validation/1", "model_identity": "0" * 64, "classes": 3, "cuts": []}),
    ],
)
def test_a_card_that_is_none_is_refused(tmp_path, data):
    kept(tmp_path)
    (tmp_path / validation.CARD).write_bytes(data)
    with pytest.raises(ModelError, match="build the caches again"):
        validation.read(tmp_path, ORACLE_CARD)


def test_that_of_another_network_is_refused(tmp_path):
    kept(tmp_path)
    other = ORACLE_CARD.model_copy(update={"classes": [*ORACLE_CARD.classes, "grey"]})
    with pytest.raises(ModelError, match="of other weights, or another input, than here"):
        validation.read(tmp_path, other)


def test_samples_that_do_not_fit_the_card_are_refused(tmp_path):
    kept(tmp_path)
    for features, labels in ((np.zeros((5, 7)), np.zeros(5)), (np.zeros((5, 6)), np.full(5, 3))):
        write_store(tmp_path, features, labels)
        with pytest.raises(ModelError, match="do not fit its card"):
            validation.read(tmp_path, ORACLE_CARD)
    (tmp_path / "features.npy").write_bytes(b"garbage")
    with pytest.raises(ModelError, match="damaged"):
        validation.read(tmp_path, ORACLE_CARD)
