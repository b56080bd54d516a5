"""Whether what was trained is published: only where it is better than what is in use. Pure.

Workers go on with the version in use until the new one has been heard to spare much more (``heard_exits``).
"""

from __future__ import annotations

from cache_adapt.adaptation.trainable import Judgement
from cache_adapt.adaptation.versions import LARGEST_BYTES

LEAST_HELD = 20
"""Fewest samples held back that may decide for an exchange."""


def why_not_published(data: bytes, new: Judgement, current: Judgement | None, held: int) -> str | None:
    """Why a new artefact is not published; None where it is. ``held``: number of samples that both were judged by.

    ``current``: how the version in use does; None where there is none.
    """
    if len(data) > LARGEST_BYTES:
        return f"it takes {len(data)} bytes, more than {LARGEST_BYTES}"
    if new.why_not is not None:
        return new.why_not
    if current is None:
        return None
    if held < LEAST_HELD:
        return f"{held} samples that were held back are too few to exchange the version in use"
    if current.why_not is not None or new.worth > current.worth:
        return None
    return f"by {held} samples that were held back it is worth {new.worth:.0%}, the version in use {current.worth:.0%}"
