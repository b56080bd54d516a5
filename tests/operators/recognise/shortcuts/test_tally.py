"""Who answered, as the timeline counts it."""

from __future__ import annotations

from typing import get_args

import pytest

from operators.frames.frame import Region
from operators.recognise.shortcuts.shortcut import Turn
from operators.recognise.shortcuts.tally import tally
from operators.testing import make_region
from operators.wire.schema import Attribute, Model, Provenance

ASKED = Turn((), (), token="a head")
IDLE = Turn((), ())


def answered(*provenances: Provenance) -> list[Region]:
    model = Model(name="m", version="1", tier="t")
    return [
        make_region(attributes=[Attribute(name="n", label="l", confidence=1, provenance=each, model=model)])
        for each in provenances
    ]


def test_every_answer_is_counted_for_who_gave_it() -> None:
    regions = answered("specialised", "specialised", "oracle")
    assert +tally(regions, {"specialised": ASKED}) == {"head": 2, "fallback": 1}


@pytest.mark.parametrize("turns", [{}, {"specialised": IDLE}, {"cached": ASKED}])
def test_without_a_head_the_oracle_was_asked_alone(turns: dict[str, Turn]) -> None:
    assert +tally(answered("oracle", "variant"), turns) == {"oracle": 2}  # type: ignore[arg-type]


def test_a_variant_counts_as_what_it_stands_for() -> None:
    assert +tally(answered("variant"), {"specialised": ASKED}) == {"fallback": 1}


def test_what_a_cache_in_the_oracle_answered_counts_as_the_oracles() -> None:
    assert +tally(answered(*get_args(Provenance)), {}) == {"head": 1, "oracle": 3}
