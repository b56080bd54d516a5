"""The jobs of a specializer, and functions that do them in the calling thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
from numpy.random import default_rng

from learning.store import FeatureStore
from serving.errors import SluiceError
from specialization.heads.head import SpecialisedHead
from specialization.rates import MeasuredRates

DRAWS = 3
"""Heads that are tried for each number of classes: fewer than for a template, since it is done again later."""


Paid = Callable[[float], None]
"""Called with the processor seconds that a job has taken."""


def unpaid(processor_s: float) -> None:
    """Do nothing: this caller keeps no accounts."""


class Job(msgspec.Struct, frozen=True, tag=True):
    """Train one head."""

    store: str
    """Directory of the feature store, or of the ring of a stream's own samples."""
    classes: tuple[int, ...]
    training_skew: float
    tolerance: float
    """Share of the head's answers that may be wrong."""
    seed: int
    own: str | None = None
    """Directory of the ring of a stream's own samples, where it is used together with a store."""


class ProfileJob(msgspec.Struct, frozen=True, tag=True):
    """Measure how well heads do that are trained from a store, for a few numbers of classes."""

    store: str
    seed: int
    draws: int = DRAWS
    """Heads to try for each number of classes."""


def train(job: Job) -> SpecialisedHead:
    """Train one head; raises SluiceError where the store or the samples do not allow it."""
    # Imported with the first job: many processes never train.
    from specialization.heads.train import HeadSamples, train_head

    with _one_line_errors(job.store):
        stores = [FeatureStore.open(Path(each)) for each in (job.store, job.own) if each]
        features = np.concatenate([store.features for store in stores])
        labels = np.concatenate([store.labels for store in stores])
        own = len(stores[1].labels) if job.own else 0
        samples = HeadSamples(features, labels, own)
        return train_head(samples, job.classes, job.training_skew, job.tolerance, default_rng(job.seed))


def profile(job: ProfileJob) -> tuple[MeasuredRates, ...]:
    """Measure rates; raises SluiceError where the store or the samples do not allow it."""
    from specialization.heads.train import HeadSamples
    from specialization.heads.validate import profile

    with _one_line_errors(job.store):
        store = FeatureStore.open(Path(job.store))
        return profile(HeadSamples(store.features, store.labels), default_rng(job.seed), draws=job.draws)


@contextmanager
def _one_line_errors(store: str) -> Iterator[None]:
    """Turn any exception into a SluiceError of one line."""
    try:
        yield
    except SluiceError:
        raise
    except Exception as error:
        raise SluiceError(f"training from {store} failed: {type(error).__name__}: {error}") from error
