"""Who crosses a line is counted once, and shares are of what is counted on every frame."""

from __future__ import annotations

import pytest

from benchmarks.identities import AHEAD, EVERY_FRAME, LIVE, crossings, headline
from operators.testing.builders import make_region


def test_one_that_walks_through_the_picture_crosses_all_lines_and_one_that_stands_none() -> None:
    seen = [
        (at / 10, [(1, make_region(x=0.02 * at, w=0.1, label="person")), (2, make_region(x=0.4, w=0.1))])
        for at in range(45)
    ]
    assert crossings(seen) == 3


def test_a_line_behind_which_a_track_ends_is_crossed() -> None:
    seen = [(at / 10, [(1, make_region(x=0.02 * at, w=0.1, label="person"))]) for at in range(13)]
    assert crossings(seen) == 1
    assert crossings([*seen, *((at / 10, []) for at in range(13, 60))]) == 1


def test_the_headline_compares_with_every_frame() -> None:
    def row(rule: str, idf1: float, switches: int, crossed: int, detected: float) -> dict[str, object]:
        scene = {"scene": "crowd", "boxes": "made", "fps": 10, "rule": rule}
        return {**scene, "idf1": idf1, "id_switches": switches, "crossings": crossed, "detected": detected}

    rows = [row(EVERY_FRAME, 0.8, 10, 20, 1.0), row(LIVE, 0.72, 12, 19, 0.5), row(AHEAD, 0.8, 5, 20, 0.25)]
    said = headline(rows)
    live, ahead = said["crowd, made, 10 fps, live"], said["crowd, made, 10 fps, look-ahead"]
    assert live == pytest.approx({"idf1": 0.9, "id_switches": 1.2, "crossings": 0.95, "detected": 0.5})
    assert ahead == pytest.approx({"idf1": 1.0, "id_switches": 0.5, "crossings": 1.0, "detected": 0.25})
