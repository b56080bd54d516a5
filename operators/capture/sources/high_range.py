"""Pictures of high dynamic range, as phones record them, in the levels of ordinary ones. Pure.

Networks were trained on ordinary pictures, and one of high range that is shown as such looks as if there were fog.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

_KNEE: Final = 0.8
"""Light, by white, above which what is brighter than white is pressed together."""


def _ordinary(light: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The levels of light, by white, in a picture of ordinary range."""
    pressed = 1 - (1 - _KNEE) ** 2 / (1 - 2 * _KNEE + np.maximum(light, _KNEE))
    return np.round(255 * np.minimum(light, pressed) ** (1 / 2.2)).astype(np.uint8)


def _perceptual(code: NDArray[np.float64]) -> NDArray[np.float64]:
    """The light of a code by PQ (ITU-R BT.2100, table 4), by white, which has 203 cd/m² (ITU-R BT.2408)."""
    root = code ** (32 / 2523)
    return np.asarray(10_000 / 203 * (np.maximum(128 * root - 107, 0) / (2413 - 2392 * root)) ** (8192 / 1305))


def _hybrid(code: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same by HLG (table 5); white has three quarters of the code."""
    bright = (np.exp((code - 0.55991073) / 0.17883277) + 0.28466892) / 12
    return np.asarray(np.where(code <= 0.5, code**2 / 3, bright) / 0.265)


_CODES: Final = np.arange(256) / 255
LEVELS: Final = {16: _ordinary(_perceptual(_CODES)), 18: _ordinary(_hybrid(_CODES))}
"""The level for each code of a colour, by FFmpeg's number of the transfer characteristic."""
