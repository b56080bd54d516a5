"""The job of fitting exits, and the process that does it: ``python -m cache_adapt.learned.job``."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cache_adapt.learned.artefact import Digest, ExitArtefact, Name
from cache_adapt.learned.fit import MOST_ROWS, fit
from cache_adapt.learned.specs import ExitsSpec
from learning.job_child import serve_jobs
from serving.errors import ModelError

CHILD = "cache_adapt.learned.job"
NAME = "the process that trains exits"


class ExitsJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Fit exits to samples of a network."""

    model: Name
    model_identity: Digest
    spec: ExitsSpec
    samples: bytes
    """N × D numbers in float16, row by row, oldest first, in the layout of the spec."""
    words: bytes
    """N numbers in int32."""

    @classmethod
    def of(
        cls, model: str, identity: str, spec: ExitsSpec, samples: NDArray[np.float16], words: NDArray[np.int32]
    ) -> ExitsJob:
        """The job for the newest of these samples."""
        newest = slice(max(len(words) - MOST_ROWS, 0), None)
        sent = (np.ascontiguousarray(samples[newest], "<f2"), np.ascontiguousarray(words[newest], "<i4"))
        return cls(model, identity, spec, *(each.tobytes() for each in sent))

    def result(self) -> bytes:
        """Fit, and encode what was fitted."""
        return self.done().to_bytes()

    def done(self) -> ExitArtefact:
        """Fit; SluiceError where the samples do not allow it."""
        dims = self.spec.layout.dims
        if len(self.words) % 4 or 2 * len(self.samples) != dims * len(self.words):
            raise ModelError(f"{len(self.samples)} bytes are not {len(self.words) // 4} samples of {dims} numbers")
        samples = np.frombuffer(self.samples, "<f2").reshape(-1, dims)
        rows = self.spec.layout.unpacked(samples, np.frombuffer(self.words, "<i4"))
        with threadpool_limits(1, user_api="blas"):  # the matrices are too small for several threads
            return fit(self.model, self.model_identity, self.spec, rows)


if __name__ == "__main__":
    serve_jobs(ExitsJob)
