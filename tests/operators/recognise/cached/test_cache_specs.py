"""What is wanted of caches: what a wish may say, and which caches are those that were wanted."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from operators.recognise.cached.building import CutPlace
from operators.recognise.cached.cache_specs import CachesSpec
from serving.common.untrusted import decode
from serving.errors import Malformed
from tests.operators.recognise.cached.paints import GRID, ORACLE_CARD, built

PLAN = [CutPlace("early", GRID, 0.3), CutPlace("late", GRID, 0.7)]
SPEC = CachesSpec.of(PLAN, 0.97)
SHA = ORACLE_CARD.identity


def test_a_spec_is_the_same_bytes_whatever_the_machine_takes_for_a_look():
    shares = [CutPlace(cut.tensor, cut.grid, cut.share + 1e-9) for cut in PLAN]
    assert msgspec.json.encode(CachesSpec.of(shares, 0.97)) == msgspec.json.encode(SPEC)
    assert decode(msgspec.json.encode(SPEC), CachesSpec) == SPEC
    assert (SPEC.places, SPEC.dims) == (PLAN, 6)


@pytest.mark.parametrize(
    "changes",
    [
        {"cuts": []},
        {"cuts": [{"tensor": "early", "grid": [3, 1, 1], "share": 0.3}] * 2},
        {"cuts": [{"tensor": str(n), "grid": [1, 1, 1], "share": 0.3} for n in range(9)]},
        {"cuts": [{"tensor": str(n), "grid": [3, 1, 1], "share": 1 - n / 2} for n in range(2)]},
        {"cuts": [{"tensor": "huge", "grid": [6000, 6000, 1], "share": 0.3}]},
        {"cuts": [{"tensor": "none", "grid": [0, 1, 1], "share": 0.3}]},
        {"cuts": [{"tensor": "new\nline", "grid": [1, 1, 1], "share": 0.3}]},
        {"cuts": [{"tensor": "late", "grid": [1, 1, 1], "share": 1.3}]},
        {"agreement": 2},
        {"look_s": 0.01},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_hostile_specs_are_refused(changes):
    with pytest.raises(Malformed):
        decode(msgspec.json.encode(msgspec.to_builtins(SPEC) | changes), CachesSpec)


def test_too_many_activations_cannot_be_wanted():
    with pytest.raises(ValueError, match="more than"):
        CachesSpec.of([CutPlace(str(each), (2048, 1, 1), each / 4) for each in range(4)], 0.9)


def test_caches_are_those_that_were_wanted_or_it_is_said_why_not():
    made = built(0.97)
    assert SPEC.why_unfit(made, SHA, 3) is None
    assert SPEC.why_unfit(built(0.98, cuts=("late",)), SHA, 3) is None
    assert "weights" in str(SPEC.why_unfit(made, "1" * 64, 3))
    assert "4" in str(SPEC.why_unfit(made, SHA, 4))
    assert "0.9 of" in str(SPEC.why_unfit(built(0.9), SHA, 3))
    assert "places" in str(SPEC.why_unfit(built(cuts=("late", "early")), SHA, 3))
    assert "places" in str(SPEC.why_unfit(built(cuts=("elsewhere",)), SHA, 3))
    of_inputs = replace(made, card=msgspec.structs.replace(made.card, of="inputs"))
    assert "inputs" in str(SPEC.why_unfit(of_inputs, SHA, 3))
    finer = CachesSpec.of([replace(cut, grid=(3, 2, 2)) for cut in PLAN], 0.97)
    assert "activations" in str(finer.why_unfit(made, SHA, 3))
