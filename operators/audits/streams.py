"""The streams of a node that saves work, including those that are gone: the one owner of their state,
bounded; and the audits of one, one for each shortcut.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from cache_adapt.audit.audit import Audit
from cache_adapt.audit.state import AuditState, Phase, Rule

log = logging.getLogger(__name__)

REMEMBERED_STREAMS = 1000
"""Number of gone streams that are kept for the report."""

S = TypeVar("S")


class Streams(Generic[S]):
    """The streams that are here, and the latest of those that are gone.

    >>> streams = Streams(str.upper)
    >>> streams.enter("gate"), streams.leave("gate"), streams.known(gone=False), streams.known(gone=True)
    ('GATE', None, {}, {'gate': 'GATE'})
    """

    def __init__(self, fresh: Callable[[str], S]) -> None:
        """``fresh``: makes the state of a new stream."""
        self._fresh = fresh
        self._here: dict[str, S] = {}
        self._gone: dict[str, S] = {}

    def here(self, name: str) -> S | None:
        return self._here.get(name)

    def enter(self, name: str) -> S:
        """Return the stream of a frame; a stream that was gone begins anew."""
        found = self._here.get(name)
        return self.renew(name) if found is None else found

    def renew(self, name: str) -> S:
        """Begin anew with a stream, and forget it as it was."""
        self._gone.pop(name, None)
        self._here[name] = self._fresh(name)
        return self._here[name]

    def leave(self, name: str) -> None:
        """Note that the stream is gone; it stays for the report."""
        stream = self._here.pop(name, None)
        if stream is not None:
            self._gone[name] = stream
        while len(self._gone) > REMEMBERED_STREAMS:
            del self._gone[next(iter(self._gone))]

    def is_here(self, name: str, stream: S) -> bool:
        """Whether this object is in use, rather than gone or replaced."""
        return self._here.get(name) is stream

    def known(self, gone: bool = True) -> Mapping[str, S]:
        """Return all streams by name; with ``gone`` including those that are gone."""
        return {**self._gone, **self._here} if gone else self._here


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
