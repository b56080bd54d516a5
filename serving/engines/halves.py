"""The names of a network's two halves; nothing is known here of what is inside."""

from __future__ import annotations

from typing import NamedTuple


class Halves(NamedTuple):
    """The names under which the halves are run."""

    first: str
    """Takes what the network takes; gives its activations at the end of this half, and the features there."""
    rest: str
    """Takes these activations; gives ``ExitOutputs``."""
