"""For tests of operators and shortcuts, ours and those of others. ``builders`` makes frames, regions and calls with
defaults, so that a test states only what matters to it; ``engine`` stands in for networks; ``shortcut_checks`` is the
contract of a shortcut, to be run on each.

Read in this order: ``builders``, ``engine``, ``shortcut_checks``.
"""

from operators.testing.builders import CALL, call, make_frame, make_region, so_far
from operators.testing.engine import FakeEngine, card_of, fake_oracle, scores
from operators.testing.shortcut_checks import SHORTCUT_CHECKS, Case, CheckedShortcut

__all__ = [
    "CALL",
    "SHORTCUT_CHECKS",
    "Case",
    "CheckedShortcut",
    "FakeEngine",
    "call",
    "card_of",
    "fake_oracle",
    "make_frame",
    "make_region",
    "scores",
    "so_far",
]
