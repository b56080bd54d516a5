"""One tracked object, about which two are asked: those who answer for it, and another who looks at it unseen. Pure.

In the shadow the oracle answers and the shortcut is the other; later it is the other way round. Both pool their looks
by the same rule, and the conclusions are compared, once.
"""

from __future__ import annotations

from dataclasses import dataclass

from cache_adapt.audit.audit import Ticket
from operators.recognise.audits.moments import TrialMoments
from operators.recognise.objects.answer import ObjectAnswer
from operators.recognise.objects.look_rule import LOOK_RULE
from operators.recognise.objects.pool import Look, Pool
from operators.recognise.shortcuts.shortcut import Evidence
from operators.wire.adaptation import Finding
from operators.wire.bounds import share
from operators.wire.schema import ShortcutKind
from serving.common.tensors import Image

LONGEST_S = 60.0
"""Media time after which a trial ends without a conclusion: some objects stand at the border for ever."""


@dataclass(slots=True, eq=False)
class Trial:
    """The looks of the other at one object, and what those who answered concluded."""

    kind: ShortcutKind
    shadow: bool
    """Whether the other is the shortcut; else it is the oracle."""
    moments: TrialMoments
    pool: Pool
    """The looks of the other."""
    opened_s: float
    seen_s: float
    """When the object was last seen."""
    ticket: Ticket | None = None
    """The draw; in the shadow given with the shortcut's first answer."""
    token: object = None
    """The shortcut's note of how it answered."""
    answer: ObjectAnswer | None = None
    """The published answer, once there is a conclusion."""
    pending: int = 0
    """Looks that were begun and are not there yet."""
    closed: bool = False
    """Whether no more looks will be begun: the track is over."""
    crop: Image | None = None
    """Where the other looked last."""
    key: str = ""
    """The name of the shortcut's audit."""
    heard: Pool | None = None
    """The looks of a shortcut that sits in the network of another that answers, unseen: their conclusion is
    compared with the looks of the oracle."""

    def wants(self, at_s: float, whole: bool) -> bool:
        """Take a frame that shows the object; returns whether the other should look at it."""
        self.seen_s = at_s
        return not self._is_sure and self.moments.come(at_s, whole)

    def looked(self, look: Look) -> None:
        self.pool.add(look)

    def heard_look(self, look: Look) -> None:
        """Take a look at which the shortcut was heard, up to the conclusion."""
        if self.heard is not None and self.answer is None:
            self.heard.add(look)

    def is_done(self, at_s: float) -> bool:
        """Whether nothing more is to be waited for."""
        if self.pending:
            return False
        if self.closed or at_s - self.opened_s > LONGEST_S:
            return True
        over = self._is_sure or self.moments.used_up or at_s - self.seen_s > LOOK_RULE.closed_after_s
        return self.answer is not None and over

    @property
    def can_be_compared(self) -> bool:
        """Whether both have said something, and one of the two is the oracle and nobody else."""
        if self.answer is None or not self.pool.looks:
            return False
        return not self.shadow or set(self.answer.looked) == {"oracle"}

    @property
    def agrees(self) -> bool | None:
        """Whether both said the same; None where the oracle was not sure."""
        assert self.answer is not None
        sure = self.answer.sure if self.shadow else self._is_sure
        return self.pool.belief().said.label == self._said.label if sure else None

    @property
    def word(self) -> str:
        assert self.answer is not None
        return self.answer.label if self.shadow else self.pool.belief().said.label

    @property
    def evidence(self) -> Evidence | None:
        """The words of both, if they can be compared and are not the same."""
        if self.agrees is not False or self.answer is None or self.crop is None:
            return None
        belief = self.pool.belief()
        other = Finding(label=belief.said.label, confidence=share(belief.posterior))
        shortcut, oracle = (other, self._said) if self.shadow else (self._said, other)
        return Evidence(shortcut, oracle, self.crop, self.shadow or self.heard is not None, self.answer.track_id)

    @property
    def _said(self) -> Finding:
        """The answer that was published, or would have been."""
        assert self.answer is not None
        if self.heard is None:
            return Finding(label=self.answer.label, confidence=share(self.answer.confidence))
        belief = self.heard.belief()
        return Finding(label=belief.said.label, confidence=share(belief.posterior))

    @property
    def _is_sure(self) -> bool:
        return self.pool.looks > 0 and self.pool.belief().posterior >= LOOK_RULE.sure
