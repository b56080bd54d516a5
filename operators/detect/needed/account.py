"""Whether it pays on a stream to look at frames instead of running the detector on every one of them. Pure.

What looking costs and saves is measured in processor seconds, and counted in detections: what one takes, around its
network too. A frame that is skipped saves one; every look at a frame, and every run of an audit, costs what it takes. A
stream has credit for some detections, earns more by what looking saves, and pays from it what looking costs. Where the
credit is used up, the detector runs on every frame of a rest, and nothing is looked at; then it is tried again. Each
rest is twice as long as the one before, until looking has earned the most credit: of n frames on which it never pays
some ``AGAIN_CREDIT`` · log2(n / ``FIRST_REST``) detections are lost. Where more is lost at once, the rest is as much
longer. Where looking begins to pay again, this is found after the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from operators.detect.detail.dial import DetectorUse

FIRST_CREDIT, AGAIN_CREDIT, MOST_CREDIT = 3.0, 2.0, 20.0
"""Detections that looking may lose at first, after each rest, and at most, once it has saved as many."""
FIRST_REST, LONGEST_REST = 100, 6_400
"""Frames of a rest."""
MOST_LOSS = 10.0
"""Detections that are taken from the credit at once: what happens once, as when a solver is loaded, says little."""
OVERDRAFT_REST = 50
"""A rest has at least so many frames for each detection that was lost beyond the credit, as a long window may lose."""


@dataclass
class SkipTally:
    """The frames of one stream, counted."""

    detected: int = 0
    """Frames on which the detector ran."""
    skipped: int = 0
    ahead: int = 0
    """Frames that were planned by looking ahead."""
    audits: int = 0
    audit_runs: float = 0.0
    """Runs of the detector for audits; of those on wider or narrower pictures as many as they cost."""
    looks: int = 0
    look_s: float = 0.0
    """Processor seconds of all looks, to decide and to move regions."""

    def looked(self, took_s: float) -> None:
        self.looks += 1
        self.look_s += took_s


class Account:
    def __init__(self, tally: SkipTally) -> None:
        """``tally``: counts what is booked here."""
        self.detection_s: float | None = None
        """Processor seconds of one detection; None as long as nobody knows."""
        self.detected_s = self.avoided_s = self.audits_s = 0.0
        """The cost of detections and audits, and savings by skipped frames."""
        self.latest = DetectorUse(0, 0, 0.0)
        """The latest booking; ``besides`` in seconds."""
        self.rest = 0
        """Frames of the rest that are still to come, the one at hand included."""
        self.tally = tally
        self._credit, self._next_rest = FIRST_CREDIT, FIRST_REST
        self._booked = 0, 0, 0.0, 0.0

    @property
    def saved_s(self) -> float:
        """Processor seconds that looking has saved, net; below 0 where it has cost more."""
        return self.avoided_s - self.audits_s - self._booked[3]

    def frame(self, detection_s: float | None) -> bool:
        """Begin a frame, with all before it counted; returns whether a rest begins with it.

        ``detection_s``: processor seconds of one detection, as far as is known.
        """
        self.detection_s, self.latest = detection_s, DetectorUse(0, 0, 0.0)
        if self.rest:
            self.rest -= 1
        if not detection_s:
            return False
        gain_s = self._book(detection_s)
        if self.rest:
            return False
        self._credit = min(self._credit + max(gain_s / detection_s, -MOST_LOSS), MOST_CREDIT)
        if self._credit >= MOST_CREDIT:
            self._next_rest = FIRST_REST
        if self._credit > 0:
            return False
        overdraft_rest = min(round(-self._credit * OVERDRAFT_REST), LONGEST_REST)
        self.rest, self._credit = max(self._next_rest, overdraft_rest), AGAIN_CREDIT
        self._next_rest = min(2 * self._next_rest, LONGEST_REST)
        return True

    def why_not(self) -> str | None:
        """Why nothing is looked at, in one sentence; None outside of a rest."""
        if not self.rest:
            return None
        cost_s = self.avoided_s - self.saved_s
        return (
            f"skipping does not pay: it has saved {self.avoided_s:.2f} s of processor time, and looking at frames and "
            f"audits have cost {cost_s:.2f} s; it is tried again after {self.rest} frames"
        )

    def _book(self, detection_s: float) -> float:
        """Book what was counted since the last time; returns what it has saved, net."""
        detected, skipped, audit_runs, look_s = self._booked
        tally, before_s = self.tally, self.saved_s
        ran, moved = tally.detected - detected, tally.skipped - skipped
        audits_s = (tally.audit_runs - audit_runs) * detection_s
        self.detected_s += ran * detection_s
        self.avoided_s += moved * detection_s
        self.audits_s += audits_s
        self.latest = DetectorUse(ran + moved, ran, audits_s + tally.look_s - look_s)
        self._booked = tally.detected, tally.skipped, tally.audit_runs, tally.look_s
        return self.saved_s - before_s
