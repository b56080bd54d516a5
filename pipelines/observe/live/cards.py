"""Which of the page's cards shows what: a stream has one for each query that asks about it. Pure."""

from __future__ import annotations

from collections import OrderedDict

MOST_STREAMS = 1024
"""Streams whose queries are remembered: more than the page shows."""
MOST_QUERIES = 16
"""Queries on one stream that have cards of their own; further ones share one."""
GONE_S = 60.0
"""A query that was silent for so long leaves its card to another one."""
BETWEEN = " · "


class Cards:
    """Names the cards. The first query on a stream has the stream's name.

    >>> cards = Cards()
    >>> [cards.of("gate", query, now_s=0) for query in ("cars", "faces", "cars")]
    ['gate', 'gate · faces', 'gate']
    >>> cards.of("gate", "people", now_s=61), source("gate · faces")
    ('gate', 'gate')
    """

    def __init__(self, most: int = MOST_STREAMS) -> None:
        """``most``: of more streams the one that was heard of longest ago is forgotten."""
        self._most = most
        self._heard: OrderedDict[str, dict[str, tuple[str, float]]] = OrderedDict()
        """By stream the cards of its queries, and when these were last heard of."""

    def of(self, stream: str, query: str, now_s: float) -> str:
        """The card of a query's messages about a stream."""
        heard = self._heard.pop(stream, {})
        if query not in heard:
            heard = {each: (card, at_s) for each, (card, at_s) in heard.items() if now_s - at_s <= GONE_S}
        own = stream if all(card != stream for card, _ in heard.values()) else f"{stream}{BETWEEN}{query}"
        card, _ = heard.get(query, (own, now_s))
        if query in heard or len(heard) < MOST_QUERIES:
            heard[query] = card, now_s
        else:
            card = f"{stream}{BETWEEN}others"
        self._heard[stream] = heard
        if len(self._heard) > self._most:
            self._heard.popitem(last=False)
        return card


def source(card: str) -> str:
    """The stream that a card is about; that of a query's own card."""
    return card.rpartition(BETWEEN)[0] or card
