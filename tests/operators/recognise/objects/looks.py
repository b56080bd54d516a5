"""Looks and boxes with defaults."""

from __future__ import annotations

from operators.frames.frame import Box
from operators.recognise.objects.pool import Look
from operators.wire.schema import Attribute, Model, Provenance

MODEL = Model(name="m", version="1", tier="reference")


def look(label: str = "car", certainty: float = 0.8, weight: float = 1.0, by: Provenance = "oracle") -> Look:
    """A look whose published confidence is its certainty."""
    said = Attribute(name="type", label=label, confidence=certainty, provenance=by, model=MODEL)
    return Look(said, certainty, weight)


def box(x: float = 0.3, y: float = 0.3, w: float = 0.2, h: float = 0.2) -> Box:
    """A box by its top left corner and size."""
    return Box(x, y, x + w, y + h)
