"""The benchmark of caches on images: its figures are of its rows, and answers are whoever's who gave them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks.caches_images import headline
from benchmarks.caches_images_parts.cascades import Cascade
from benchmarks.caches_images_parts.plot import draw
from benchmarks.caches_images_parts.ways import answers, turns
from serving.engines.exits import ExitResult


def row(way: str, target: float, speedup: float, agreement: float, runs: str = "") -> dict[str, object]:
    named = {"network": "net", "way": way, "target": target, "composition_runs": runs}
    return {**named, "speedup": speedup, "agreement": agreement, "processor_ms": 4.0, "p50_ms": 4.0, "p95_ms": 5.0}


ROWS = [row("whole", 1.0, 1.0, 1.0), row("int8", 1.0, 2.5, 0.99), row("caches", 0.97, 1.4, 0.975, "int8")]


class Sure:
    """Says 0 of items below zero, and is sure of it; of others 1, which it is not."""

    def run(self, batch):
        low = batch[:, 0] < 0
        return [np.where(low[:, None], np.float32([9, 0, 0]), np.float32([0, 0.1, 0]))]


class Large:
    """Says 2, and counts what it was given."""

    given = 0

    def run(self, batch):
        self.given += len(batch)
        return [np.tile(np.float32([0, 0, 1]), (len(batch), 1))]


def test_the_headline_has_every_way_and_target_and_what_composition_runs():
    assert headline(ROWS) == {
        "net": {"whole": (1.0, 1.0), "int8": (2.5, 0.99), "caches 97": (1.4, 0.975), "composition 97": "int8"}
    }


def test_an_item_that_left_has_the_caches_answer():
    class Network:
        def run(self, batch):
            count = len(batch)
            place = np.arange(count, dtype=np.int32) % 2
            said = np.tile(np.float32([0, 1, 0]), (count, 1))
            scores = np.tile(np.float32([0, 0, 1]), (count, 1))
            return ExitResult(scores, place, place == 0, said, [said]).as_list()

    found, early = answers(Network(), np.zeros((4, 1), np.float32))
    assert found.tolist() == [1, 2, 1, 2]
    assert early == 0.5


def test_the_large_network_runs_only_where_the_small_one_is_not_sure():
    items, large = np.float32([[-1], [1], [-2], [3]]), Large()
    found, early = answers(Cascade(Sure(), large, 0.1), items)
    assert found.tolist() == [0, 2, 0, 2]
    assert early == 0.5
    assert large.given == 2
    answers(Cascade(Sure(), large, 0.1), items[::2])
    assert large.given == 2


class WithCaches:
    """A cache answers 1 for items of 5 and more, the network 0 of 9."""

    def run(self, batch):
        early = batch[:, 0] >= 5
        scores = np.where(early[:, None], np.float32([0, 0, 0]), np.float32([0.1, 0, 0]))
        said = np.where(early[:, None], np.float32([0, 1, 0]), np.float32([0, 0, 0]))
        place = np.where(early, 0, 1).astype(np.int32)
        return ExitResult(scores, place, place == 0, said, [said]).as_list()


def test_what_a_cache_of_the_small_network_answers_is_asked_no_further():
    items, large = np.float32([[5], [1], [7]]), Large()
    found, early = answers(Cascade(WithCaches(), large, 0.1), items)
    assert found.tolist() == [1, 2, 1]
    assert early == pytest.approx(2 / 3)
    assert large.given == 1


def test_caches_of_the_large_network_answer_where_the_small_one_is_not_sure():
    items = np.float32([[-1], [5], [1]])
    found, early = answers(Cascade(Sure(), WithCaches(), 0.1), items)
    assert found.tolist() == [0, 1, 0]
    assert early == pytest.approx(2 / 3)


def test_every_way_is_timed_on_every_item():
    seen: dict[str, list[float]] = {"one": [], "other": []}
    runs = {name: lambda batch, name=name: seen[name].append(float(batch[0, 0])) for name in seen}
    took = turns(runs, np.float32([[1], [2], [3]]))
    assert {name: len(seconds) for name, seconds in took.items()} == {"one": 3, "other": 3}
    assert seen == {"one": [1, 2, 3], "other": [1, 2, 3]}


def test_each_network_has_a_panel():
    figure = Figure()
    draw([*ROWS, {**ROWS[0], "network": "other"}], figure)
    assert [axes.get_title() for axes in figure.axes] == ["net", "other"]
