"""For tests of operators, ours and those of others. ``builders`` makes frames, regions and calls with defaults, so that
a test states only what matters to it; ``engine`` stands in for networks.

Read in this order: ``builders``, ``engine``.
"""

from operators.testing.builders import CALL, call, make_frame, make_region, so_far
from operators.testing.engine import FakeEngine, card_of, scores

__all__ = [
    "CALL",
    "FakeEngine",
    "call",
    "card_of",
    "make_frame",
    "make_region",
    "scores",
    "so_far",
]
