"""The audits of one stream at one node, one for each shortcut. Pure."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import AuditState, Phase, Rule

log = logging.getLogger(__name__)

DECLINED: Mapping[Phase, str] = {
    "shadow": "it has yet to prove itself on this stream",
    "off": "its audit has switched it off",
}
"""Why a shortcut that was planned does not answer, by the phase of its audit."""


class StreamAudits:
    """The audits by the keys of shortcuts; an audit is opened when it is first asked for."""

    def __init__(self, rule: Rule, rules: Mapping[str, Rule] = MappingProxyType({})) -> None:
        """``rules``: for shortcuts whose rule is another."""
        self.opened: dict[str, Audit] = {}
        self._rule, self._rules = rule, rules
        self._announced: dict[str, Phase] = {}

    def of(self, key: str) -> Audit:
        return self.opened.get(key) or self._open(key, None)

    def states(self) -> dict[str, AuditState]:
        """Return the state that must survive a restart."""
        return {key: audit.state for key, audit in self.opened.items()}

    def restore(self, states: Mapping[str, AuditState]) -> None:
        """Restore the state that another worker saved."""
        for key, state in states.items():
            self._open(key, state)

    def changes(self, where: str) -> Iterator[tuple[str, Audit]]:
        """The audits whose phase has changed since the last call; each is logged, for the place ``where``."""
        for key, audit in self.opened.items():
            if self._announced[key] == audit.phase:
                continue
            self._announced[key] = audit.phase
            if audit.phase == "off":
                log.warning("%s: the oracle answers: %s %s", where, key, audit.state.last_switch_offs[-1].reason)
            elif audit.phase == "trusted":
                audits, low = audit.estimate().audits, audit.estimate().sequential.low
                log.info("%s: %s answers: %d audits show at least %.3f", where, key, audits, low)
            yield key, audit

    def _open(self, key: str, state: AuditState | None) -> Audit:
        audit = self.opened[key] = Audit(self._rules.get(key, self._rule), state)
        self._announced[key] = audit.phase
        return audit
