"""Arrays in files: written in one step, mapped, and refused where they are not what they should be."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from serving.common import files as atomic
from serving.errors import ModelError

FEATURES, LABELS, WRITTEN = "features.npy", "labels.npy", "written.npy"
EMPTY = -1
"""The label of a row that holds nothing."""
MOST_BYTES = 256 << 20
"""The largest file: a head's training data must fit into memory, whatever a file claims."""

Features = NDArray[np.float16]
Labels = NDArray[np.int32]


def as_features(values: NDArray[Any]) -> Features:
    """Values as they are stored; what is too large for float16 becomes its largest number."""
    most = np.finfo(np.float16).max
    return np.asarray(np.clip(values, -most, most), np.float16)


def write_array(path: Path, values: NDArray[Any]) -> None:
    """Write an .npy file in one step; BadInput where that cannot be."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    atomic.write(path, buffer.getvalue())


def read(path: Path, dtype: Any, ndim: int, mode: Any = "r") -> NDArray[Any]:
    """Map an .npy file of this type; ModelError where it is missing, cut off or something else."""
    try:
        values: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
    except FileNotFoundError:
        raise ModelError(f"{path}: is missing") from None
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        raise ModelError(f"{path}: damaged, not an array of numbers ({' '.join(str(error).split())})") from None
    if not isinstance(values, np.ndarray) or values.dtype != dtype or values.ndim != ndim or values.nbytes > MOST_BYTES:
        raise ModelError(f"{path}: not {ndim}-dimensional {np.dtype(dtype)} of at most {MOST_BYTES >> 20} MiB")
    return values
