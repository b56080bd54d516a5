"""Looks that cross to another machine for audits alone: their budget is a share of all looks of their node. Pure."""

from __future__ import annotations

from collections.abc import Collection

from learning.budget import Budget


class Crossings:
    """Those of one node. Processor seconds of this machine say nothing of what they cost there.

    >>> crossings = Crossings(0.05, ["net on gpu"])
    >>> crossings.looked(100)
    >>> [crossings.may_cross(model, looks) for model, looks in (("net on gpu", 5), ("net on gpu", 6), ("net", 6))]
    [True, False, True]
    >>> crossings.cross("net on gpu", 3)
    >>> crossings.may_cross("net on gpu", 3), crossings.crossed
    (False, 3)
    """

    def __init__(self, share: float, elsewhere: Collection[str]) -> None:
        """``share``: of all looks; 0: none ever. ``elsewhere``: the models that are."""
        self.looks = 0
        self._elsewhere = frozenset(elsewhere)
        self._budget = Budget(share, lambda: self.looks)

    @property
    def crossed(self) -> int:
        return round(self._budget.spent_s)

    def looked(self, looks: int) -> None:
        """Note looks of the node."""
        self.looks += looks

    def may_cross(self, model: str, looks: int) -> bool:
        """Whether so many looks of a model may be made; always, where it is here."""
        return model not in self._elsewhere or self._budget.may_spend(looks)

    def cross(self, model: str, looks: int) -> None:
        """Note looks that are made, where they cross."""
        if model in self._elsewhere:
            self._budget.spend("audits", looks)
