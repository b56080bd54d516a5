"""The benchmark of caches on images: its figures are of its rows, and answers are whoever's who gave them."""

from __future__ import annotations

import numpy as np

from benchmarks.caches_images import _answers, headline
from serving.engines.exits import ExitOutputs


def row(way: str, target: float, speedup: float, agreement: float) -> dict[str, object]:
    return {"way": way, "target": target, "speedup": speedup, "agreement": agreement}


def test_the_headline_has_every_target_and_the_rival():
    rows = [row("whole", 1.0, 1.0, 1.0), row("int8", 1.0, 2.5, 0.99), row("caches", 0.97, 1.4, 0.975)]
    found = headline(rows)
    assert found == {
        "speedup": {"97": 1.4},
        "agreement": {"97": 0.975},
        "int8": {"speedup": 2.5, "agreement": 0.99},
    }


def test_an_item_that_left_has_the_caches_answer():
    class Network:
        def run(self, batch):
            count = len(batch)
            place = np.arange(count, dtype=np.int32) % 2
            said = np.tile(np.float32([0, 1, 0]), (count, 1))
            scores = np.tile(np.float32([0, 0, 1]), (count, 1))
            return ExitOutputs(scores, place, place, said, [said]).as_list()

    assert _answers(Network(), np.zeros((4, 1), np.float32)).tolist() == [1, 2, 1, 2]
