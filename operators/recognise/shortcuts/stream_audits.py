"""The audits of one stream at one node, one for each kind of shortcut. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.self_agreement import SelfAgreement
from cache_adapt.audit.state import AuditState, Phase, Rule
from operators.wire.schema import ShortcutKind


class StreamAudits:
    """The audits by kind; an audit is opened when its kind is first asked for."""

    def __init__(self, rule: Rule) -> None:
        self.opened: dict[ShortcutKind, Audit] = {}
        self.self_agreement = SelfAgreement()
        """Of the oracle."""
        self._rule = rule
        self._announced: dict[ShortcutKind, Phase] = {}

    def of(self, kind: ShortcutKind) -> Audit:
        """The audit of a kind."""
        return self.opened.get(kind) or self._open(kind, None)

    def states(self) -> dict[str, AuditState]:
        """Return the state that must survive a restart."""
        return {kind: audit.state for kind, audit in self.opened.items()}

    def restore(self, states: Mapping[ShortcutKind, AuditState]) -> None:
        """Restore the state that another worker saved."""
        for kind, state in states.items():
            self._open(kind, state)

    def changes(self) -> Iterator[tuple[ShortcutKind, Audit]]:
        """Return the audits whose phase has changed since the last call."""
        for kind, audit in self.opened.items():
            if self._announced[kind] != audit.phase:
                self._announced[kind] = audit.phase
                yield kind, audit

    def _open(self, kind: ShortcutKind, state: AuditState | None) -> Audit:
        audit = self.opened[kind] = Audit(self._rule, state)
        self._announced[kind] = audit.phase
        return audit
