"""How the outputs for parts of a batch become those of the whole."""

from __future__ import annotations

import numpy as np

from serving.engines.engine import joined


def test_a_piece_alone_is_handed_on_as_it_is() -> None:
    piece = np.ones((1, 3, 2), np.float32)
    assert joined([piece]) is piece


def test_pieces_are_joined_in_their_order() -> None:
    assert joined([np.full((1, 2), 1), np.full((2, 2), 2)]).tolist() == [[1, 1], [2, 2], [2, 2]]


def test_shorter_pieces_get_zeros_at_their_end() -> None:
    found = joined([np.full((1, 1), 7), np.full((1, 3), 8)])
    assert found.tolist() == [[7, 0, 0], [8, 8, 8]]
