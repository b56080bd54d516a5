"""A stream at a node with a chain: its audits, its trials, its timeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from operators.audits.stream_audits import StreamAudits
from operators.recognise.audits.open_trials import OpenTrials
from operators.recognise.audits.second_thoughts import SecondThoughts
from operators.recognise.shortcuts.shortcut import Standing
from specialization.timeline import Timeline


@dataclass(eq=False)
class NodeStream:
    """One stream at one node."""

    name: str
    audits: StreamAudits
    timeline: Timeline | None
    """Its timeline; None if no shortcut of the node follows the content."""
    at_s: float = 0.0
    """Media time of the latest frame."""
    run: str | None = None
    """The run whose tracks are audited; None where no tracks are."""
    trials: OpenTrials = field(default_factory=OpenTrials)
    second_thoughts: SecondThoughts = field(default_factory=partial(SecondThoughts, 2))
    standings: dict[str, Standing] = field(default_factory=dict)
    """The phases that were last noted."""

    def trusts(self, key: str | None) -> bool:
        """Whether the shortcut of this key may answer; None: there is none to ask about."""
        return key is None or self.audits.of(key).uses_shortcut

    def looked_again(self) -> None:
        """Note a run of the oracle for an audit."""
        if self.timeline is not None:
            self.timeline.counted(self.at_s, audits=1)

    def note(self, key: str, standing: Standing) -> None:
        """Note the stream's present standing with a shortcut."""
        self.standings[key] = standing
        if self.timeline is not None:
            self.timeline.entered(self.at_s, standing.phase, standing.classes, standing.window)
