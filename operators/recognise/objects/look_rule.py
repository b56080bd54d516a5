"""The figures of the rules by which looks are pooled and made. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LookRule:
    """Times are media seconds. ``docs/decisions/0021-answers-per-track.md`` says where the figures come from."""

    correlation: float = 0.6
    """Intraclass correlation of the looks at one object: their errors have the same causes."""
    border_strength: float = 0.7
    """The worth of a look at an object that the frame's border cuts off, beside a look at a whole one."""
    sure: float = 0.85
    """Posterior from which the answer is known. Correlated looks hardly ever bring it above .95."""
    most_looks: int = 3
    """So many looks are made to become sure; more of the same object tell nothing new."""
    look_every_s: float = 0.35
    """Time between these; looks that follow closer upon each other make the same errors."""
    recheck_s: float = 0.5
    """Time until the answer is checked for the first time; each later one comes after twice the time."""
    longest_recheck_s: float = 60.0
    """Longest time between two of them."""
    doubt_every_s: float = 0.2
    """Time between looks while it is in doubt whether this is still the same object."""
    contradictions: int = 3
    """So many looks in a row that say one other word are another object."""
    least_certainty: float = 0.5
    """Certainty from which a look contradicts."""
    shrunk: float = 1.4
    """A box whose area is smaller than at the last look by this factor may hold another object: merged ones part."""
    grown: float = 5.0
    """One that is larger by this factor holds another object too: merged ones have met."""
    jumped: float = 1.0
    """So may a box that lies this far, in shares of its size, from where its motion would have brought it."""
    detected_s: float = 0.35
    """How long a look that is due may wait for a frame in which the detector itself has found the object."""
    postponed_s: float = 2.0
    """How long the check of a known answer may wait for a frame that has time for it."""
    closed_after_s: float = 10.0
    """A track that was not seen this long is over."""


@dataclass(frozen=True, slots=True)
class SceneRule:
    """Those of whole frames. Times are media seconds. ``docs/decisions/0037-scenes.md`` says where they come from."""

    window_s: float = 3.0
    """So long a look counts: what a camera shows changes, other than what an object is."""
    look_every_s: float = 1.0
    """Time between looks."""
    still_s: float = 5.0
    """The same, where nothing has changed since the last look."""
    compare_every_s: float = 0.15
    """Time between two pictures that are compared; so quickly a cut shows."""
    cut_share: float = 0.4
    """From this share of changed cells on the camera shows something else."""
    cut_levels: int = 40
    """So it does where the whole picture has become so many grey levels brighter or darker."""
    most_frames: int = 300
    """Frames after which a look is due, whatever the media times of frames say."""


LOOK_RULE = LookRule()
SCENE_RULE = SceneRule()
PAID_LOOK_RULE = LookRule(look_every_s=1.0, recheck_s=8.0, longest_recheck_s=120.0)
"""That of looks which are paid one by one."""
PAID_SCENE_RULE = SceneRule(window_s=30.0, look_every_s=10.0, still_s=60.0)
"""The same of whole frames."""
REMEMBERED = 4096
"""Objects of a stream whose looks are kept: those that were seen last."""
