"""Decides between the models of a node once it is known how many objects are left to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from operators.audits.stream_audits import DECLINED
from operators.decision import Decision
from operators.frames.frame import Region
from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.objects.objects import Objects
from operators.recognise.shortcuts.shortcut import Shortcut
from operators.recognise.shortcuts.variant import VariantShortcut


class ModelChoice:
    """One for a node; asks the audits which of its models may answer for a stream."""

    def __init__(self, links: Sequence[Shortcut]) -> None:
        self._variants = {link.model: link for link in links if isinstance(link, VariantShortcut)}

    def choose(self, stream: NodeStream, objects: int, decision: Decision) -> Decision:
        """Decide for so many objects; without objects or several models there is nothing to decide."""
        return decision.chosen_for(objects, partial(self._may_answer, stream)) if objects else decision

    def urgent(
        self, stream: NodeStream, due: Sequence[Region], decision: Decision, objects: Objects
    ) -> tuple[list[Region], Decision]:
        """Return those of the regions that are due which cannot wait, where no model has time for all of them."""
        if (
            decision.fallback != "reuse"
            or not decision.ladder
            or decision.fits(len(due), partial(self._may_answer, stream))
        ):
            return list(due), decision
        kept = [region for region in due if not objects.can_wait(stream.name, region)]
        decision = self.choose(stream, len(due), decision)
        wait = len(due) - len(kept)
        return kept, replace(decision, why=f"{decision.why}: {wait} of {len(due)} wait", ladder=(), objects=len(kept))

    def declined(self, stream: NodeStream, decision: Decision) -> Mapping[str, str]:
        """Why models that the decision would rather have run do not."""
        if not decision.proving:
            return {}
        reasons = (f"{model}: {self._barred_by(stream, model)}" for model in sorted(decision.proving))
        return {"variant": "; ".join(reasons)}

    def _barred_by(self, stream: NodeStream, model: str) -> str:
        link = self._variants[model]
        return DECLINED.get(stream.audits.of(link.key).phase, "") if link.is_there else "it is not there"

    def _may_answer(self, stream: NodeStream, model: str) -> bool:
        link = self._variants.get(model)
        return link is None or (link.is_there and stream.audits.of(link.key).uses_shortcut)
