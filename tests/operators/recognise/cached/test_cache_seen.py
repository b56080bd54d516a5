"""What is counted of the caches in use on each stream."""

from __future__ import annotations

from cache_adapt.adaptation.triggers import VersionUse
from operators.recognise.cached.cache_seen import LATEST, MOST_STREAMS, CacheSeen


def test_looks_count_as_fewer_objects_and_audits_as_they_are():
    seen = CacheSeen()
    gate = seen.of("gate")
    gate.asked, gate.answered, gate.audits, gate.agreed = 100, 60, 9, 8
    seen.looked("gate", [1] * 60 + [2] * 40 + [3])
    assert seen.told("gate", 0.5) == VersionUse(35, 21, 17.5, 9, 8, {1: 21, 2: 14, 3: 1})
    assert seen.told("gate", 7.0).expected == 35
    assert seen.told("yard", 0.5) == VersionUse()


def test_another_version_begins_anew_but_classes_stay():
    seen = CacheSeen()
    gate = seen.of("gate")
    gate.asked, gate.audits, gate.told_s = 100, 9, 5.0
    seen.looked("gate", [1] * 10)
    seen.begin()
    assert (seen.told("gate", 1.0), gate.told_s) == (VersionUse(mix={1: 4}), None)


def test_only_the_latest_classes_and_streams_are_kept():
    seen = CacheSeen()
    for number in range(MOST_STREAMS + 1):
        seen.of(str(number)).asked = 100
    assert seen.told("0", 0.5).asked == 0
    seen.looked("gate", [1] * LATEST + [2] * LATEST)
    assert set(seen.told("gate", 0.5).mix) == {2}
    seen.forget("gate")
    assert seen.told("gate", 0.5).mix == {}
