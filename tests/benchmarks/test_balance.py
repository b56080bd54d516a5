"""The simulation behind the balance benchmark, and what it must show of Table 3.6."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.balance import (
    BATCHES,
    CHOOSE,
    TABLE_3_6,
    WAYS,
    Case,
    Server,
    _rows,
    headline,
    in_time,
    ssd,
    throughput,
)
from benchmarks.batching_parts.simulation import Ask
from benchmarks.placement_parts.replay import Line


def test_full_batches_serve_what_the_table_says() -> None:
    for (_, batch), rates in TABLE_3_6.items():
        assert 4 * batch / ssd().latency_s[batch] == pytest.approx(rates["centralized"])
    assert ssd().latency_s[1] == pytest.approx(0.0534, abs=1e-4)


def test_a_server_by_hand() -> None:
    server = Server(Line.of(ssd(), 3))
    server.line.add(Ask(0.0, 1.0))
    server.until(0.0)
    assert server.in_flight == 1
    assert server.free_at == pytest.approx([ssd().latency_s[1]])
    for at in (0.01, 0.02):
        server.line.add(Ask(at, at + 1.0))
        server.until(at)
    assert (server.in_flight, server.said) == (3, 0)
    server.until(0.06)
    assert (server.in_flight, server.said) == (2, 2)
    server.until(1.0)
    assert (server.in_flight, server.said, server.line.served) == (0, 0, 3)


def test_queues_are_known_as_they_were_10_ms_ago() -> None:
    busy, idle = Server(Line.of(ssd())), Server(Line.of(ssd()))
    chosen = {CHOOSE["two choices"]([busy, idle], 0.0, Random(seed)) for seed in range(9)}
    assert chosen == {0, 1}
    busy.line.waiting = [Ask(0.0, 1.0)]
    assert {CHOOSE["two choices"]([busy, idle], 0.005, Random(seed)) for seed in range(9)} == {0, 1}
    assert {CHOOSE["two choices"]([busy, idle], 0.02, Random(seed)) for seed in range(9)} == {1}
    assert {CHOOSE["two choices, own calls"]([busy, idle], 0.005, Random(seed)) for seed in range(9)} == {1}


def test_two_choices_come_close_to_one_queue_and_chance_does_not() -> None:
    found = {way: throughput(Case(0.4, 7, way, "sliding window"), 20.0, 0) for way in WAYS}
    assert found["two choices"] > 0.95 * found["centralized"]
    assert found["two choices, own calls"] > 0.95 * found["centralized"]
    assert found["random"] < 0.95 * found["centralized"]


def test_all_are_in_time_where_there_is_little_to_do() -> None:
    for batches in BATCHES:
        assert in_time(Case(0.4, 7, "centralized", batches), 20.0, 10.0, 0) == 1.0


def test_rows_and_headline() -> None:
    rows = [*_rows("look ahead", 2.0, 1)]
    assert len(rows) == len(WAYS) * len(TABLE_3_6)
    assert {row["paper_relative_percent"] for row in rows if row["way"] == "random"} == {76.8, 89.5, 95.1}
    assert len(headline(rows)["look ahead"]["random"]) == 3
