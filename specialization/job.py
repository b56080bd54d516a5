"""What somebody wants of a specializer, and the work itself, here and now."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import numpy as np
from numpy.random import default_rng

from serving.errors import SluiceError
from specialization.feature_store import FeatureStore
from specialization.head import SpecialisedHead
from specialization.templates import Measured

NICENESS = 10
"""Training gives way to the analysis of streams."""


class Job(msgspec.Struct, frozen=True, tag=True):
    """A head that somebody wants."""

    store: str
    """Directory of the feature store, or of the ring of a stream's own samples."""
    classes: tuple[int, ...]
    training_skew: float
    tolerance: float
    """Share of the head's answers that may be wrong."""
    seed: int
    own: str | None = None
    """Directory of such a ring, where there is one beside a store."""


class ProfileJob(msgspec.Struct, frozen=True, tag=True):
    """How well heads do that are trained from a store, for a few numbers of classes."""

    store: str
    seed: int


def train(job: Job) -> SpecialisedHead:
    """Train one head; raises SluiceError where the store or the samples do not allow it."""
    # Imported with the first job: the optimiser takes a third of a second.
    from specialization.train_head import train_head

    with _told(job.store):
        stores = [FeatureStore.open(Path(each)) for each in (job.store, job.own) if each]
        features = np.concatenate([store.features for store in stores])
        labels = np.concatenate([store.labels for store in stores])
        own = len(stores[1].labels) if job.own else 0
        rng = default_rng(job.seed)
        return train_head(features, labels, job.classes, job.training_skew, job.tolerance, rng, own)


def profile(job: ProfileJob) -> tuple[Measured, ...]:
    """Measure rates; raises SluiceError where the store or the samples do not allow it."""
    from specialization.profile_rates import profile

    with _told(job.store):
        store = FeatureStore.open(Path(job.store))
        return profile(store.features, store.labels, default_rng(job.seed))


@contextmanager
def _told(store: str) -> Iterator[None]:
    """Whatever goes wrong is said in one line."""
    try:
        yield
    except SluiceError:
        raise
    except Exception as error:
        raise SluiceError(f"training from {store} failed: {type(error).__name__}: {error}") from error


def give_way() -> None:
    """Let the calling thread, or the process by its first one, run only when others need not; where that is allowed."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
