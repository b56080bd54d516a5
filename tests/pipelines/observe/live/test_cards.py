"""Which cards queries on a stream have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipelines.observe.live.cards import GONE_S, MOST_QUERIES, Cards, source


def test_a_query_that_takes_the_place_of_another_has_its_card() -> None:
    cards = Cards()
    assert cards.of("gate", "old", now_s=0) == "gate"
    assert cards.of("gate", "new", now_s=GONE_S) == "gate · new"  # the old one may be slow
    later = Cards()
    later.of("gate", "old", now_s=0)
    assert later.of("gate", "new", now_s=GONE_S + 1) == "gate"


def test_a_query_keeps_its_card_whichever_go_and_come() -> None:
    cards = Cards()
    assert [cards.of("gate", query, now_s=0) for query in ("cars", "faces")] == ["gate", "gate · faces"]
    assert cards.of("gate", "faces", now_s=GONE_S + 1) == "gate · faces"
    assert cards.of("gate", "people", now_s=GONE_S + 1) == "gate"
    assert cards.of("gate", "faces", now_s=GONE_S + 1) == "gate · faces"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40))))
def test_cards_are_bounded_and_lead_back_to_their_stream(heard: list[tuple[str, int]]) -> None:
    cards, names = Cards(most=2), set[str]()
    for stream, query in heard:
        card = cards.of(stream, f"q{query}", now_s=0)
        assert source(card) == stream
        names.add(card)
        assert len(cards._heard) <= 2
        assert all(len(each) <= MOST_QUERIES for each in cards._heard.values())


def test_further_queries_share_a_card() -> None:
    cards = Cards()
    names = [cards.of("gate", f"q{number}", now_s=0) for number in range(MOST_QUERIES + 2)]
    assert len(set(names)) == MOST_QUERIES + 1
    assert names[-2:] == ["gate · others"] * 2
