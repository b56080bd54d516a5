"""What the planner decided for the nodes of a frame, as plain data: handed down in a ``Call``, echoed in the result.

A ``Decision`` is about one node of one frame. The ``NodePlan`` of ``wire/stream_plan.py`` is something else: it says
how a stream stands with the shortcuts of a node, over all frames so far.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from operators.wire.schema import AuditedKind


@dataclass(frozen=True, slots=True)
class Decision:
    """What one node should do for one frame."""

    variant: str | None
    """The model to run where no other shortcut answers; None for nodes without a network."""
    shortcuts: frozenset[AuditedKind] | None = None
    """Kinds of shortcuts that may answer; None: all that the node has."""
    budget_ms: float | None = None
    """Time that the node may take, so that the nodes after it can still meet the deadline; None: not limited."""
    why: str = ""
    """The reason in words."""

    def allows(self, kind: AuditedKind) -> bool:
        """Whether shortcuts of this kind may answer."""
        return self.shortcuts is None or kind in self.shortcuts


FramePlan = Mapping[str, Decision]
"""The decisions for one frame, by node."""
