"""The environment in which the operators of a query are built: one, which nobody changes once it is made."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cache_adapt.audit.state import Rule
from learning.budget import SHARE, Budget
from learning.purse import Purse
from operators.frames.mask import Mask
from operators.inference import Inference
from operators.observer import UNOBSERVED, Observer
from operators.zones.layout import Zone
from pipelines.assembly.registry import Shortcuts
from pipelines.environment import template_dirs
from pipelines.query.compiled import CompiledQuery
from pipelines.query.dag import DagNode
from serving.catalogue.lookup import Catalogue
from serving.common.clock import SYSTEM, Clock

if TYPE_CHECKING:
    from cache_adapt.adaptation.elsewhere import AwaitedElsewhere
    from specialization.trainer.trainer import Specializer


@dataclass(frozen=True)
class Training:
    """How nodes learn."""

    catalogue: Catalogue
    templates: Sequence[Path]
    """Directories of templates of heads; those that are missing are made in the first."""
    trainer: Specializer
    samples: Path
    """The directory of the streams' own samples while the process runs."""
    elsewhere: AwaitedElsewhere | None = None
    """Trains in place of the trainer."""


@asynccontextmanager
async def training(
    known: Catalogue, trainer: Specializer, elsewhere: AwaitedElsewhere | None = None
) -> AsyncIterator[Training]:
    """Provide it while the block runs; at its end training stops and the streams' own samples are deleted."""
    with tempfile.TemporaryDirectory(prefix="sluice-samples-") as samples:
        try:
            yield Training(known, template_dirs(), trainer, Path(samples), elsewhere)
        finally:
            await trainer.close()


@dataclass(frozen=True)
class Audits:
    """The means to find out whether answers that cost less agree with the oracle's."""

    shortcuts: Shortcuts
    """Knows the operators that it audits."""
    rule: Rule
    """Its demands."""
    training: Training | None = None
    """None: nothing learns."""
    purse: Purse = field(default_factory=lambda: Purse(time.process_time))
    """The means of recognise nodes to find out what can be saved, for all of them together."""
    budget: Budget = field(default_factory=lambda: Budget.beside(SHARE, time.process_time))
    """The budget of learning and of audits, for all nodes together."""

    def changed(self, stream: str) -> None:
        """Note that a phase has changed on a stream."""
        self.shortcuts.news.notify()


@dataclass(frozen=True)
class Environment:
    """The same for all nodes of a query."""

    engine: Inference
    audits: Audits | None = None
    """None: the first listed model answers, whether it agrees with the oracle or not."""
    clock: Clock = SYSTEM
    observer: Observer = UNOBSERVED
    masks: Sequence[Mask] = ()
    """For detectors that look at the whole frame."""
    zones: Sequence[Zone] = ()
    """In which objects may be."""
    nodes: Mapping[str, DagNode] = field(default_factory=dict)
    """All nodes by name: galleries are enrolled as their objects are found."""

    @classmethod
    def of(cls, wanted: CompiledQuery, engine: Inference, **more: Any) -> Environment:
        """That of a query; ``more``: other fields."""
        query, nodes = wanted.query, {node.name: node for node in wanted.dag.nodes}
        return cls(engine, masks=[each.mask for each in query.masks], zones=query.layout.zones, nodes=nodes, **more)
