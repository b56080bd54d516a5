"""Labels with a meaning of their own, which no network gives."""

from __future__ import annotations

MOVING = "moving"
"""The label of what the motion detector finds: something that moves."""
UNKNOWN = "unknown"
"""The answer of a recogniser that is not sure enough."""
FRAME = "frame"
"""The detection's label of an object that is the whole frame."""
OTHER = "other"
"""The label of what none of a recogniser's names fits, and of what is counted together."""
