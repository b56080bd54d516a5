"""Wishes for exits, as strangers may write them, and the artefacts that fulfil them."""

from __future__ import annotations

import msgspec
import pytest

from cache_adapt.learned.specs import MOST_VALUES, ExitCut, ExitsSpec, fitting
from cache_adapt.learned.vocabulary import Vocabulary
from serving.common.untrusted import decode
from serving.errors import Malformed, ModelError
from tests.cache_adapt.learned.taught import GRID, SHA, SPEC, WORDS, exits

CUT = {"tensor": "early", "grid": [6, 2, 2], "share": 0.3}


def test_a_spec_is_read_as_it_was_written():
    assert decode(msgspec.json.encode(SPEC), ExitsSpec) == SPEC
    assert SPEC.layout.dims == 24 + 24 + 4 + 2


@pytest.mark.parametrize(
    "fields",
    [
        {"cuts": []},
        {"cuts": [CUT, CUT]},
        {"cuts": [CUT | {"share": 0.9}, CUT | {"tensor": "late"}]},
        {"cuts": [CUT | {"grid": [6144, 1, 1]}]},
        {"cuts": [CUT | {"grid": [0, 1, 1]}]},
        {"cuts": [CUT | {"tensor": "new\nline"}]},
        {"cuts": [CUT | {"tensor": str(each), "share": each / 10} for each in range(9)]},
        {"vocabulary": {"labels": 60000, "least_confidence": 0.5}},
        {"agreement": 2},
        {"more": 1},
    ],
    ids=lambda fields: str(fields)[:60],
)
def test_a_spec_that_cannot_be_met_is_malformed(fields):
    with pytest.raises(Malformed):
        decode(msgspec.json.encode(msgspec.to_builtins(SPEC) | fields), ExitsSpec)


def test_an_artefact_is_for_its_network_its_words_and_its_cuts():
    card = exits(200).card
    assert SPEC.why_unfit(card, SHA) is None
    assert SPEC.why_unfit(card, "cd" * 32) == "for other weights, or another input"
    other = msgspec.structs.replace(SPEC, vocabulary=Vocabulary(4, 0.5, (3,)))
    assert other.why_unfit(card, SHA) == "for other words"
    for cuts in (SPEC.cuts[::-1], SPEC.cuts[:1], (SPEC.cuts[0], ExitCut("late", (24, 1, 1), 0.7))):
        assert ExitsSpec(sorted(cuts, key=lambda cut: cut.share), WORDS, 0.9).why_unfit(card, SHA) in (
            None if cuts == SPEC.cuts[::-1] else "for other cuts",
        )
    assert card.exits[0].grid == GRID


def test_of_cuts_whose_samples_would_be_too_large_the_largest_is_left_out():
    cuts = [ExitCut("one", (2048, 1, 1), 0.3), ExitCut("two", (2040, 1, 1), 0.6), ExitCut("three", (8, 1, 1), 0.9)]
    most = MOST_VALUES - 2048 - 2040 - 2
    assert fitting(cuts, most) == cuts
    assert ExitsSpec(tuple(cuts[:2]), Vocabulary(most, 0.5), 0.9).layout.dims == MOST_VALUES
    assert fitting(cuts, most + 1) == cuts[1:]


def test_a_network_of_so_many_words_that_no_cut_is_left_has_no_exits():
    with pytest.raises(ModelError, match=f"a sample of {MOST_VALUES} words would take {MOST_VALUES + 10} numbers"):
        fitting([ExitCut("one", (8, 1, 1), 0.3)], MOST_VALUES)
