"""The figures of specialization in a plan."""

from __future__ import annotations

import msgspec

from operators.recognise.shortcuts.shortcut import Standing
from operators.recognise.specialised.report import specialization
from operators.wire.schema import Specialization
from specialization.timeline import Timeline

STANDING = Standing("specialised", 2, "compact", ("bus", "van"), window=30, template_cost=0.1)


def test_a_head_in_use_is_told_of_with_its_classes() -> None:
    timeline = Timeline()
    timeline.counted(1, oracle=30)
    timeline.entered(2, "specialised", ["bus", "van"], window=30)
    timeline.counted(3, head=60, fallback=10, reused=7, audits=1)
    found = specialization(timeline, STANDING)
    assert found == Specialization(
        phase="specialised",
        epoch=2,
        template="compact",
        classes=["bus", "van"],
        oracle=30,
        head=60,
        fallback=10,
        reused=7,
        audits=1,
        special_rate=0.7,
        cascade_rate=0.1429,
        transitions=1,
        mean_dominant=2.0,
        mean_window=30.0,
        saving=0.5514,
        speedup=2.2292,
    )
    assert msgspec.json.decode(msgspec.json.encode(found), type=Specialization) == found


def test_before_the_first_head_there_is_little_to_tell() -> None:
    found = specialization(Timeline(), Standing("initialising", epoch=1))
    assert (found.phase, found.template, found.classes) == ("initialising", None, [])
    assert (found.special_rate, found.cascade_rate, found.saving) == (0.0, None, None)
