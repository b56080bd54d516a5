"""Opens devices that decode video, by PyAV, and watches whether they do.

A frame that a device decoded is copied to this machine's memory before PyAV hands it out: as NV12, or as P010 where its
samples have ten bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import av
import av.error
from av.codec.codec import UnknownCodecError
from av.codec.hwaccel import HWAccel, hwdevices_available

from operators.capture.sources.hardware import AUTO, DEVICES, SOFTWARE, Hardware

_PROBE_CODEC: Final = "h264"
"""Every device that decodes knows it."""


def choose_device(hardware: Hardware) -> None:
    """Try the wanted device, once, before a source is opened: a camera need not be asked twice where there is none.

    ``auto`` becomes the first device that can be opened. A device that cannot be opened is given up.
    """
    if not hardware.untried:
        return
    candidates = _present() if hardware.wanted == AUTO else [hardware.wanted]
    refusals = []
    for device in candidates:
        refusal = _refusal(device)
        if refusal is None:
            hardware.choose(device)
            return
        refusals.append(f"{device} cannot be opened ({refusal})")
    hardware.give_up("; ".join(refusals) or "this build of FFmpeg knows no device")


def opened(open_container: Callable[[HWAccel | None], Any], hardware: Hardware) -> Any:
    """Open a container with the chosen device, or without one where software decodes.

    A device may be lost between the trial and now. Errors of the source name it; those of a device name nothing.
    """
    if hardware.wanted == SOFTWARE:
        return open_container(None)
    try:
        return open_container(HWAccel(hardware.wanted, allow_software_fallback=True))
    except av.error.FFmpegError as error:
        if error.filename is not None:
            raise
        hardware.give_up(f"{hardware.wanted} cannot be opened ({error.strerror})")
    return open_container(None)


class Acceleration:
    """Watches whether a device decodes an open stream, from its packets' outcome."""

    def __init__(self, context: Any, hardware: Hardware, patience: int) -> None:
        """``patience``: packets in a row that the device may fail at before it is given up."""
        self._context = context
        self._hardware = hardware
        self._patience = patience
        self._failures = 0
        self._format = context.pix_fmt
        if hardware.wanted != SOFTWARE and not context.is_hwaccel:
            hardware.give_up(f"{hardware.wanted} does not decode {context.name}")

    @property
    def on(self) -> bool:
        return self._hardware.wanted != SOFTWARE

    def came(self) -> None:
        """Note that frames came. FFmpeg goes over to software by itself where a device refuses a stream's profile."""
        self._failures = 0
        if self.on and self._context.pix_fmt != self._format:
            device = self._hardware.wanted
            self._hardware.give_up(f"{device} does not decode this {self._context.name} ({self._context.pix_fmt})")

    def failed(self, error: av.error.FFmpegError) -> bool:
        """Note that a packet could not be decoded; returns whether the device has been given up for it."""
        self._failures += 1
        if not self.on or self._failures < self._patience:
            return False
        self._hardware.give_up(f"{self._hardware.wanted} failed in mid-stream ({error.strerror})")
        return True


def _present() -> Sequence[str]:
    return [device for device in hwdevices_available() if device in DEVICES]


def _refusal(device: str) -> str | None:
    """Open a device for a moment; returns why it cannot be."""
    try:
        HWAccel(device).create(av.Codec(_PROBE_CODEC, "r"))
    except (NotImplementedError, UnknownCodecError):
        return "this build of FFmpeg does not know it"
    except av.error.FFmpegError as error:
        return str(error.strerror)
    return None
