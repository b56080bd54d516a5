"""Printed rules and ours, whole and without one part each (figure 5.5 of Shen, 2019)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from benchmarks.weg_parts.printed import Printed, share
from specialization.weg.adaptive import Adaptive
from specialization.weg.algorithm import Evidence, Rules
from specialization.weg.candidates import Templates
from specialization.weg.config import WegConfig
from specialization.weg.state import WegState

WHOLE = "whole"
VARIANTS = (WHOLE, "window of 30", "window of 60", "variable skew", "simple exit")


@dataclass(frozen=True)
class SimpleExit(Adaptive):
    """Our rules, but a head is left as in (c): when the skew is below that on entry."""

    def leave(self, state: WegState, evidence: Evidence) -> str | None:
        """Too few of the last w_min answers are of the head's classes."""
        super().leave(state, evidence)
        assert state.head
        target = state.head.target
        falls = share(state.answers[-self.config.w_min :], frozenset(target.classes)) < target.skew
        return "the skew fell" if falls else None


def printed(variant: str, config: WegConfig, templates: Templates) -> Rules:
    """The printed rules, with the options that they have for this."""
    return Printed(
        _changed(config, variant),
        templates,
        merge=not _window(variant),
        exit="skew" if variant == "simple exit" else "accuracy",
    )


def ours(variant: str, config: WegConfig, templates: Templates) -> Rules:
    """Our rules; with a fixed window there is no longer one to try."""
    changed = _changed(config, variant)
    if window := _window(variant):
        changed = msgspec.structs.replace(changed, w_max=window)
    return (SimpleExit if variant == "simple exit" else Adaptive)(changed, templates)


FAMILIES: Mapping[str, Callable[[str, WegConfig, Templates], Rules]] = {"printed": printed, "ours": ours}


def _changed(config: WegConfig, variant: str) -> WegConfig:
    if window := _window(variant):
        return msgspec.structs.replace(config, w_min=window)
    if variant == "variable skew":
        return msgspec.structs.replace(config, training_skew=None)
    return config


def _window(variant: str) -> int | None:
    return int(variant.removeprefix("window of ")) if variant.startswith("window of ") else None
