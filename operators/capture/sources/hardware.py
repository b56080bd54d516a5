"""Which device is to decode a stream's video, and whether it still does. Pure.

A device that is given up is not tried again in the same run: software decodes what follows, and one line says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

SOFTWARE: Final = "none"
AUTO: Final = "auto"
DEVICES: Final = ("cuda", "vaapi", "vdpau", "vulkan", "videotoolbox")
"""Devices that help the decoders PyAV opens. Quick Sync (qsv) has decoders of its own: vaapi reaches the same chips."""
HWACCELS: Final = (SOFTWARE, AUTO, *DEVICES)


class Hardware:
    """The decoder of one stream: a device until it is given up, then software."""

    def __init__(self, wanted: str = SOFTWARE, tell: Callable[[str], None] = lambda why: None) -> None:
        """``wanted``: one of ``HWACCELS``; ``tell`` is given the reason when the device is given up."""
        self._wanted = wanted
        self._tell = tell
        self._tried = False

    @property
    def wanted(self) -> str:
        """The device that is to decode; ``auto`` until one is chosen, ``none`` for software."""
        return self._wanted

    @property
    def untried(self) -> bool:
        """Whether a device is wanted of which it is not known yet whether it can be opened."""
        return self._wanted != SOFTWARE and not self._tried

    def choose(self, device: str) -> None:
        """Note that this device can be opened; ``auto`` has become it."""
        self._wanted, self._tried = device, True

    def give_up(self, why: str) -> None:
        """Let software decode from now on; does nothing where it does already."""
        if self._wanted != SOFTWARE:
            self._wanted = SOFTWARE
            self._tell(why)
