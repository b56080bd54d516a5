"""A claim of a paper, as ``papers/*.yaml`` says it, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

PAPERS = Path(__file__).parent / "papers"

Value: TypeAlias = str | float
Where: TypeAlias = dict[str, Value | list[Value]]
"""By column, the value or values that a row of a CSV must have."""


class Other(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a figure is compared with in the same CSV: what is not said is as in the figure."""

    where: Where = {}
    column: str = ""


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number of a claim: what the paper prints, and where ours is found."""

    what: str
    paper: float | tuple[float, float]
    """As printed, or from the least to the most that is printed."""
    csv: str
    column: str
    where: Where = {}
    over: Other | None = None
    """Ours is divided by this."""
    minus: Other | None = None
    """This is taken from ours."""
    spared: Other | None = None
    """Ours is what is spared of this, as a share."""
    by: list[str] = []
    """Rows with the same values of these columns are one group; ``*``: each row is one. Else all rows are."""
    take: Literal["mean", "median", "least", "most"] = "mean"
    """Over the groups; within a group it is the mean."""
    better: Literal["more", "less"] = "more"
    nothing: float | None = None
    """The value at which nothing is left of the claim."""
    within: float = 0.1
    """By how much, as a share of the paper's figure, ours may differ and is the same."""

    @property
    def printed(self) -> tuple[float, float]:
        """From the least to the most."""
        return self.paper if isinstance(self.paper, tuple) else (self.paper, self.paper)


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One claim: with figures, with tests that compute it exactly, with both, or with neither."""

    number: int
    section: str
    claim: str
    """What they measured, on what."""
    figures: list[Figure] = []
    tests: list[str] = []
    """``FILE::FUNCTION``."""
    ours: str = ""
    """What ours is measured on."""
    rest: str = ""
    """What of the claim is not compared."""
    why: str = ""
    """Why ours is worse or the opposite, from a measurement."""
    impossible: str = ""
    """Why it cannot be measured here."""


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One paper with its claims."""

    title: str
    claims: list[Claim]


def papers() -> list[Paper]:
    """All five, in the order of their claims; raises ``msgspec.ValidationError`` where a file has a fault."""
    files = (msgspec.yaml.decode(file.read_bytes(), type=Paper) for file in PAPERS.glob("*.yaml"))
    return sorted(files, key=lambda paper: paper.claims[0].number)
