"""The times of models on this machine's device, as messages tell them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from operators.wire.fleet import MOST_BATCHES, MOST_SESSIONS
from operators.wire.schema import BatchTime, NetworkPrefix, TimedModel
from pipelines.measure.process_meter import NetworkUse
from serving.catalogue.lookup import Catalogue
from serving.errors import ModelError
from serving.loading.opening import prefix_shares
from serving.loading.residency import RESIDENT_PER_FILE_BYTE
from serving.variants import profiles, timings
from serving.variants.artefacts import folder, resolve
from serving.variants.variant import parse

LEARNT = 1.25
"""Where nothing was measured, batches are expected to take so many times their mean in service."""


@dataclass(frozen=True)
class ModelsHere:
    """The models of a backend."""

    known: Catalogue
    directory: Path
    """Where profiles lie."""
    prefixes: dict[str, list[NetworkPrefix]] = field(default_factory=dict)
    """By model that was looked at: what its network has in common with others, if they have it too."""

    def timed(self, uses: Mapping[str, NetworkUse]) -> list[TimedModel]:
        """The models and variants that have times, those in use first."""
        names = dict.fromkeys([*(name for name, use in uses.items() if use.loaded), *self.known.names()])
        found = (_timed(name, self.known, self.directory, uses.get(name, NetworkUse())) for name in names)
        told = [each for each in found if each is not None][:MOST_SESSIONS]
        return [replace(each, prefixes=self.prefixes.get(each.model, [])) for each in told]

    def look(self, model: str) -> None:
        """Look at what a network computes first, which takes a while; raises ModelError."""
        found = prefix_shares(resolve(model, self.known, self.directory)).items()
        self.prefixes[model] = [NetworkPrefix(digest=digest, share=round(share, 4)) for digest, share in found]


def _timed(name: str, known: Catalogue, directory: Path, use: NetworkUse) -> TimedModel | None:
    try:
        variant = parse(name)
        entry = known.find(variant.model)
        figures = timings.measured(entry, variant, directory)
        profile = profiles.read(folder(directory, entry), variant)
    except ModelError:
        figures = profile = None
        if not use.batches:
            return None
    seconds = figures.tail_s if figures else {size: LEARNT * took_s for size, (_, took_s) in use.sizes.items()}
    if not seconds:
        return None
    memory = use.memory_bytes or (profile.memory_bytes if profile else _estimate(name, known))
    load_s = use.load_s or (profile.load_s if profile else 0.0)
    agreement = figures.agreement if figures else None
    return TimedModel(model=name, times=times(seconds), memory_bytes=memory, load_s=load_s, agreement=agreement)


def times(seconds: Mapping[int, float]) -> list[BatchTime]:
    """Seconds by batch as a message tells them: ascending, of as many sizes as one may have."""
    return [BatchTime(batch=size, ms=ms) for size, ms in _ascending(sorted(seconds.items())[:MOST_BATCHES])]


def _ascending(points: list[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    longest = 1e-3
    for size, took_s in points:
        longest = max(longest, round(took_s * 1000, 4))
        yield size, longest


def _estimate(name: str, known: Catalogue) -> int:
    """From the size of its file, as long as it has not been loaded."""
    try:
        return round(known.find(parse(name).model).path.stat().st_size * RESIDENT_PER_FILE_BYTE)
    except (ModelError, OSError):
        return 0
