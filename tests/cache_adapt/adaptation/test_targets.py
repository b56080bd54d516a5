"""Keys tell apart whatever differs; figures of other versions do not count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cache_adapt.adaptation.targets import Report, Target, pooled
from cache_adapt.adaptation.triggers import VersionUse
from tests.cache_adapt.adaptation.kinds import SUBJECT, TARGET


def test_whatever_differs_has_another_key() -> None:
    subjects = [replace(SUBJECT, **{name: "x"}) for name in ("node", "network", "network_identity", "labels", "stream")]
    moved = replace(SUBJECT, node="typen", network="et")  # the same letters, parted elsewhere
    targets = [
        TARGET,
        *(Target(subject, "majority", b"{}") for subject in (*subjects, moved)),
        Target(SUBJECT, "m", b"ajority{}"),
        Target(SUBJECT, "majority", b"{} "),
    ]
    assert len({target.key for target in targets}) == len(targets)
    assert TARGET.key == Target(replace(SUBJECT), "majority", b"{}").key
    assert TARGET.key.startswith("type/majority/")


def test_what_is_one_streams_alone_takes_nothing_of_another() -> None:
    SUBJECT.check("any")
    own = replace(SUBJECT, stream="gate")
    own.check("gate")
    with pytest.raises(ValueError, match="stream 'yard' has nothing to say of what is of stream 'gate' alone"):
        own.check("yard")


def test_only_figures_of_the_version_in_use_count_but_classes_of_all_streams() -> None:
    reports = [
        Report("a", 7, VersionUse(10, 9, 9.0, 2, 2, {0: 5})),
        Report("b", 6, VersionUse(10, 0, 9.0, 2, 0, {1: 5})),
        Report("c", 0, VersionUse(mix={1: 1})),
    ]
    assert pooled(reports, 7) == VersionUse(10, 9, 9.0, 2, 2, {0: 5, 1: 6})
    assert pooled([], 7) == VersionUse()
