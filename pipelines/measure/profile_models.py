"""``sluice models profile``, without the printing: which variants to measure anew, and the figures of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.measure.pictures import PreparedPictures, gather
from pipelines.process.extras import install
from serving.catalogue.lookup import Entry
from serving.common.precision import Precision
from serving.engines.execution_device import ON_GPU, runs_on_gpu
from serving.errors import ModelError
from serving.profiling.profiler import OnProgress, Profiler
from serving.variants.artefacts import Calibration, build, folder
from serving.variants.profiles import Profile, fingerprint, installed, pareto, read, store
from serving.variants.variant import EngineName, Variant, generate, sizes_of


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """The variants to measure, and how."""

    engines: Sequence[EngineName]
    precisions: Sequence[Precision]
    max_batch: int
    budget_s: float
    again: bool = False


@dataclass(slots=True)
class ProfiledModel:
    """The figures of a model's variants (a catalogue in the sense of Shen, 2019, §4.3.1)."""

    model: str
    profiles: list[Profile] = field(default_factory=list)
    reused: int = 0
    notes: list[str] = field(default_factory=list)
    """One line each: what was skipped or measured anew, and why."""

    def pareto(self) -> list[bool]:
        """For each profile whether no other is both faster and better."""
        return pareto([(profile.latency_s[1], quality(profile)) for profile in self.profiles])


def quality(profile: Profile) -> float:
    """Accuracy where labels are known, otherwise agreement."""
    return profile.agreement if profile.accuracy is None else profile.accuracy


def measure(
    entry: Entry, artefacts_dir: Path, data: Path | None, wanted: ProfileRequest, report: OnProgress
) -> ProfiledModel:
    """Profiles of a model's variants, stored in the cache; those that still hold are not measured again.

    Raises BadInput for data that cannot be used, ModelError for a network that cannot be opened.
    """
    name = entry.card.name
    known = ProfiledModel(name)
    variants = _here(known, generate(name, wanted.engines, wanted.precisions, sizes_of(entry.card)))
    report("pictures", 0.0)
    pictures = gather(entry.card, data)
    max_batch = min(wanted.max_batch, entry.card.max_batch or wanted.max_batch)
    shelf = _Shelf(entry, artefacts_dir, pictures, known.notes)
    held = {} if wanted.again else shelf.held(variants, max_batch)
    files = shelf.built([each for each in variants if each not in held], wanted.again, report)
    known.reused = len(held)
    if files:
        profiler = Profiler(entry, pictures.pictures, max_batch, wanted.budget_s, report, shelf.directory)
        outcome = profiler.measure(files)
        known.notes += list(dict.fromkeys(outcome.skipped.values()))
        for profile in outcome.profiles:
            store(profile, shelf.directory)
        held |= {variant: profile for variant in files for profile in outcome.profiles if profile.variant == variant.id}
    known.profiles = [held[variant] for variant in variants if variant in held]
    return known


def _here(known: ProfiledModel, variants: Sequence[Variant]) -> list[Variant]:
    """The variants whose engine is installed, and that this machine's device computes."""
    missing = {variant.engine for variant in variants if not installed(variant.engine)}
    known.notes += [
        f"{engine} is not installed, its variants are skipped: {install(engine)}" for engine in sorted(missing)
    ]
    unused = frozenset() if runs_on_gpu() else ON_GPU
    return [each for each in variants if each.engine not in missing and each.precision not in unused]


@dataclass(frozen=True)
class _Shelf:
    """The files and the profiles of one model's variants."""

    entry: Entry
    artefacts_dir: Path
    data: PreparedPictures
    notes: list[str]
    """Gets a line for everything that is measured anew or left out."""

    @property
    def directory(self) -> Path:
        return folder(self.artefacts_dir, self.entry)

    def held(self, variants: Sequence[Variant], max_batch: int) -> dict[Variant, Profile]:
        """The profiles that can be used again."""
        held = {}
        for variant in variants:
            try:
                profile = read(self.directory, variant)
            except ModelError as error:
                self.notes.append(str(error))
                continue
            if profile is None:
                continue
            reasons = profile.stale(self.entry.card.sha256, fingerprint(variant.engine))
            if profile.data_sha256 != self.data.pictures.data_sha256:
                reasons.append(_changed(profile.data, self.data.pictures.data))
            if profile.max_batch != max_batch:
                reasons.append(f"max-batch: was {profile.max_batch}, is {max_batch}")
            if reasons:
                self.notes.append(f"{variant.id} is measured anew ({'; '.join(reasons)})")
            else:
                held[variant] = profile
        return held

    def built(self, variants: Sequence[Variant], again: bool, report: OnProgress) -> dict[Variant, Path]:
        """The files of variants; what cannot be built is noted and left out."""
        files: dict[Variant, Path] = {}
        for done, variant in enumerate(variants):
            report("building", done / len(variants))
            shared = next((path for other, path in files.items() if other.artefact == variant.artefact), None)
            try:
                files[variant] = shared or self._file(variant, again)
            except ModelError as error:
                if variant.artefact is None:
                    raise
                self.notes.append(f"{variant.id} is skipped: {error}")
        return files

    def _file(self, variant: Variant, again: bool) -> Path:
        data = self.data
        calibration = Calibration(data.calibration, data.pictures.data_sha256)
        return build(self.entry, variant, self.artefacts_dir, calibration, again)


def _changed(before: str, now: str) -> str:
    return f"data: was {before}, is {now}" if before != now else f"data: the pictures of {now} have changed"
