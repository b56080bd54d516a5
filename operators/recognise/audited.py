"""A recogniser that lists variants: they answer while they agree with the oracle often enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from operators.base import Call
from operators.frame import Frame, Region
from operators.recognise.auditor import Auditor
from operators.recognise.recogniser import Recogniser
from operators.recognise.remembered import Remembered, from_json


class Audited:
    """The operator of a node that lists shortcuts: who answers."""

    def __init__(self, recogniser: Recogniser, auditor: Auditor) -> None:
        self.auditor = auditor
        self._recogniser = recogniser
        self._variants = frozenset(auditor.shortcuts["variant"])

    async def prepare(self) -> None:
        """Make all models ready, the oracle among them."""
        await self._recogniser.prepare()

    async def process(self, frame: Frame, regions: Sequence[Region], call: Call) -> list[Region]:
        """Have the call's model answer, or the oracle where that is a shortcut which may not; makes no regions."""
        self.auditor.discard(frame.stream)
        if not regions:
            return []
        allowed = self.auditor.allows(frame.stream, "variant")
        model = call.model if call.model not in self._variants or allowed else self.auditor.oracle
        await self._recogniser.process(frame, regions, replace(call, model=model))
        if model in self._variants:
            self.auditor.by_shortcut(frame, "variant", regions)
        else:
            self.auditor.by_oracle(frame.stream, "variant", len(regions))
        return []

    def snapshot(self, stream: str) -> bytes | None:
        """What has to survive a restart, as JSON; None of a stream that is not here."""
        states = self.auditor.states(stream)
        return Remembered(states).to_json() if states else None

    def restore(self, stream: str, data: bytes) -> None:
        """Go on with what another worker knew of a stream; what cannot be read is told of and ignored."""
        known = from_json(data, f"stream {stream}, node {self.auditor.node}")
        if known is not None:
            self.auditor.restore(stream, known.audits)

    def forget(self, stream: str) -> None:
        """What comes of the stream later begins anew."""
        self.auditor.forget(stream)
