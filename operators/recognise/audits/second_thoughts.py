"""Whether the oracle says the same of an object again: its looks after a conclusion, pooled by themselves. Pure.

They are made anyway, to check the answer, so that it costs nothing to compare.
"""

from __future__ import annotations

from collections import OrderedDict

from operators.recognise.objects.answer import ObjectAnswer
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.pool import Look, Pool

REMEMBERED = 256
"""Objects of a stream whose second conclusion is waited for: those that were concluded last."""


class SecondThoughts:
    """The objects of one run of a stream of which the oracle alone was sure."""

    def __init__(self, words: int) -> None:
        """``words``: how many a look may say."""
        self._words = max(2, words)
        self._first: OrderedDict[int, tuple[str, Pool]] = OrderedDict()

    def concluded(self, answer: ObjectAnswer) -> None:
        """Take a conclusion."""
        if answer.sure and set(answer.looked) == {"oracle"}:
            self._first[answer.track_id] = answer.label, Pool(self._words, LOOK_RULE.correlation)
            if len(self._first) > REMEMBERED:
                self._first.popitem(last=False)

    def awaits(self, track: int) -> bool:
        """Whether another conclusion about the object is waited for."""
        return track in self._first

    def looked(self, track: int, look: Look) -> bool | None:
        """Take a look at an awaited object; returns whether both conclusions agree, once there is a second sure one."""
        label, pool = self._first[track]
        if look.said.provenance != "oracle":
            del self._first[track]
            return None
        pool.add(look)
        belief = pool.belief()
        sure = belief.posterior >= LOOK_RULE.sure
        if sure or pool.looks >= LOOK_RULE.most_looks:
            del self._first[track]
        return belief.said.label == label if sure else None
