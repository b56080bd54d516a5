"""TEMPORARY"""
from __future__ import annotations
from pathlib import Path
import time
import asyncio
from cache_adapt.adaptation.targets import Subject, Target
from cache_adapt.adaptation.trainable import Judgement, MadeArtefact, Paid
from cache_adapt.adaptation.window import Rows
from cache_adapt.learned.fit import fit
from cache_adapt.learned.specs import ExitsSpec
from cache_adapt.learned.artefact import ExitArtefact
from serving.common.untrusted import decode
CHILD, NAME = "x", "y"
class ExitsKind:
    kind = "exits"
    least_samples = 150
    def __init__(self, runner, folder): pass
    def why_foreign(self, subject): return None
    def why_not(self, target): return None
    async def train(self, target, rows, seed, paid):
        spec = decode(target.spec, ExitsSpec)
        t = time.thread_time()
        def work():
            return fit(target.subject.network, target.subject.network_identity, spec, spec.layout.unpacked(rows.features, rows.labels))
        made = await asyncio.to_thread(work)
        paid(.1)
        return MadeArtefact(made.to_bytes(), f"exits at {len(made.exits)}")
    def judge(self, target, data, held):
        return Judgement(min(1.0, ExitArtefact.from_bytes(data).card.samples / 1e5))
