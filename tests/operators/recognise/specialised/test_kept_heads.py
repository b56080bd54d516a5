"""Heads of a stream, by number: what is kept, written and read again."""

from __future__ import annotations

import numpy as np
import pytest

from operators.recognise.specialised.kept_heads import KeptHeads
from operators.recognise.specialised.makers import Trained
from specialization.heads.head import SpecialisedHead
from specialization.rates import Rates


def head(first: int) -> SpecialisedHead:
    weights = np.full((2, 3), first, np.float32)
    return SpecialisedHead((first, first + 1), weights, np.zeros(3, np.float32), 0.5, Rates(0.9, 0.9, 0.1))


def kept() -> KeptHeads:
    heads = KeptHeads("stream cam, node type")
    heads.put(1, Trained(head(1)))
    heads.put(2, Trained(head(2), version=7))
    return heads


def test_only_heads_that_came_from_elsewhere_have_versions() -> None:
    assert (kept().version(1), kept().version(2), kept().version(3)) == (0, 7, 0)
    assert kept().versions() == {2: 7}


def test_what_is_not_to_be_left_is_dropped_with_its_version() -> None:
    heads = kept()
    heads.leave_only({1, 5})
    assert (1 in heads, 2 in heads, 5 in heads) == (True, False, False)
    assert heads.version(2) == 0


def test_heads_are_written_and_read_again_in_place_of_what_there_was() -> None:
    restored = KeptHeads("stream cam, node type")
    restored.put(9, Trained(head(9)))
    restored.restore(kept().to_bytes([1, 2]), kept().versions())
    assert 9 not in restored
    assert (restored[1].classes, restored[2].classes, restored.version(2)) == ((1, 2), (2, 3), 7)


def test_a_damaged_head_is_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    heads = KeptHeads("stream cam, node type")
    heads.restore({1: b"", 2: head(2).to_bytes()}, {1: 3})
    assert (1 in heads, 2 in heads) == (False, True)
    assert heads.versions() == {}
    assert "stream cam, node type: " in caplog.text
    assert "trained anew" in caplog.text
