"""A run with exits is compared with the oracle's by what was published, and counted by tracks."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import beta

from benchmarks.exits_video_parts.scores import Share, compared, first_service, interval, published


def line(seq: int, *objects: tuple[int | None, str, str, str]) -> dict[str, Any]:
    """``objects``: track, label, provenance, who looked."""
    return {
        "seq": seq,
        "objects": [
            {"id": place, "track_id": track, "attributes": [_attribute(*said)] if said[0] else []}
            for place, (track, *said) in enumerate(objects)
        ],
    }


def _attribute(label: str, provenance: str, looked: str) -> dict[str, str]:
    return {"label": label, "provenance": provenance} | ({"looked": looked} if looked else {})


ORACLE = [
    line(0, (1, "car", "track", "oracle"), (None, "other", "oracle", ""), (3, "", "", "")),
    line(1, (1, "car", "track", ""), (2, "van", "track", "oracle")),
    line(2, (1, "car", "track", "oracle"), (2, "van", "track", "")),
]
MINE = [
    line(0, (1, "car", "track", "oracle"), (None, "unknown", "oracle", ""), (3, "", "", "")),
    line(1, (1, "car", "track", ""), (2, "unknown", "track", "specialised")),
    line(2, (1, "car", "track", "cached"), (2, "van", "track", "")),
]


def test_looks_answers_and_lost_names_are_counted():
    found = compared(published(MINE), published(ORACLE))
    assert (found.objects, found.same, found.looks, found.by_exits) == (6, 1.0, 4, 2)
    assert found.agreement is not None
    assert found.agreement.found == pytest.approx(5 / 6, abs=1e-4)
    assert found.of_exits is not None
    assert found.of_exits.found == pytest.approx(2 / 3, abs=1e-4), "track 2 twice, track 1 once"
    assert found.names_lost is not None
    assert found.names_lost.found == pytest.approx(1 / 5, abs=1e-4)
    assert first_service(published(MINE)) == 2
    assert first_service(published(ORACLE)) is None


def test_a_part_knows_who_was_looked_at_before():
    found = compared(published(MINE), published(ORACLE), lambda seq: seq == 2)
    assert (found.looks, found.by_exits) == (1, 1)
    assert found.of_exits is not None
    assert found.of_exits.found == 1.0
    assert compared({}, {}).agreement is None


def test_objects_of_one_run_alone_show():
    assert compared(published(MINE), published(ORACLE[:2])).same == pytest.approx(4 / 6, abs=1e-4)


def test_tracks_are_the_trials_of_an_interval():
    once = Share.of([(str(number), number > 1) for number in range(20)])
    often = Share.of([(str(number), number > 1) for number in range(20) for _ in range(10)])
    assert once == often
    assert once is not None
    assert once.low == pytest.approx(beta.ppf(0.025, 18, 3), abs=1e-3)
    assert once.high == pytest.approx(beta.ppf(0.975, 19, 2), abs=1e-3)
    assert interval(20, 20)[1] == 1.0
