"""Something new is published only where it is better than what is in use."""

from __future__ import annotations

import pytest

from cache_adapt.adaptation.gain import LEAST_HELD, why_not_published
from cache_adapt.adaptation.trainable import Judgement
from cache_adapt.adaptation.versions import LARGEST_BYTES

BAD = Judgement(0.9, "too many answers are wrong")


@pytest.mark.parametrize(
    ("new", "current", "held", "published"),
    [
        (Judgement(0.1), None, 0, True),
        (BAD, None, 100, False),
        (Judgement(0.8), Judgement(0.7), 100, True),
        (Judgement(0.7), Judgement(0.7), 100, False),
        (Judgement(0.5), BAD, 100, True),
        (BAD, BAD, 100, False),
        (Judgement(0.9), Judgement(0.1), LEAST_HELD - 1, False),
    ],
)
def test_what_is_published(new: Judgement, current: Judgement | None, held: int, published: bool) -> None:
    assert (why_not_published(b"new", new, current, held) is None) == published


def test_what_no_worker_would_take_is_not_published() -> None:
    assert "bytes" in str(why_not_published(bytes(LARGEST_BYTES + 1), Judgement(1.0), None, 100))
