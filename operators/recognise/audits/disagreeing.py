"""The message about an audit in which two answers differ. Pure."""

from __future__ import annotations

from operators.audits.audit_report import Audited
from operators.recognise.shortcut import AuditOutcome, Evidence
from operators.wire.adaptation import Disagreement, Opinion
from operators.wire.bounds import LONGEST_MEDIA_S, limited


def disagreement(of: Audited, outcome: AuditOutcome, evidence: Evidence, at_s: float) -> Disagreement:
    """Describe the answers of both; ``at_s``: media time of the stream's newest frame."""
    return Disagreement(
        stream=outcome.stream,
        node=of.node,
        kind=of.kind,
        media_time_s=limited(at_s, -LONGEST_MEDIA_S, LONGEST_MEDIA_S),
        in_shadow=evidence.in_shadow,
        track_id=evidence.track_id,
        shortcut=Opinion(models=list(of.shortcuts), found=[evidence.shortcut]),
        oracle=Opinion(models=[of.oracle], found=[evidence.oracle]),
    )
