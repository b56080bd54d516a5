"""A device that is not there. It decodes in software, and hands out NV12, as PyAV does with what a device decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import av
import av.error

from operators.capture.sources import devices

EXTERNAL = av.error.ExternalError(0x1000, "Generic error in an external library")
SILENCE = 10_000
"""More packets than any clip of the tests has."""


class Proxy:
    """Looks like another object, except for some names."""

    def __init__(self, real: Any, **own: Any) -> None:
        vars(self).update(real=real, own=own)

    def __getattr__(self, name: str) -> Any:
        own = vars(self)["own"]
        return own[name] if name in own else getattr(vars(self)["real"], name)

    def __iter__(self) -> Iterator[Any]:
        return iter(vars(self)["real"])

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self)["own"]:
            vars(self)["own"][name] = value
        else:
            setattr(vars(self)["real"], name, value)


class FakeDevice:
    """What a test wants of the device; ``opens`` counts containers by whether they were opened with it."""

    def __init__(
        self,
        *,
        refuses: tuple[str, ...] = (),
        knows_codec: bool = True,
        fails_from: int = SILENCE,
        leaves_from: int = SILENCE,
        lost: bool = False,
    ) -> None:
        """``fails_from``: the packet from which on it fails; ``leaves_from``: from which on FFmpeg is in software.

        ``refuses``: kinds that cannot be opened; ``lost``: it can be opened when tried, and no longer for a source.
        """
        self._refuses = refuses
        self._knows_codec = knows_codec
        self._fails_from = fails_from
        self._leaves_from = leaves_from
        self._lost = lost
        self._open = av.open
        self.opens: list[str | None] = []
        self.streams: list[Any] = []

    def install(self, replace: Callable[[Any, str, Any], None]) -> FakeDevice:
        """Take the place of PyAV's devices; ``replace`` is ``setattr``, or that of ``monkeypatch``."""
        device = self

        class Accel:
            def __init__(self, name: str, allow_software_fallback: bool = False) -> None:
                self.name = name

            def create(self, codec: av.Codec) -> None:
                if self.name in device._refuses:
                    raise av.error.PermissionError(1, "Operation not permitted")

        replace(devices, "HWAccel", Accel)
        replace(devices, "hwdevices_available", lambda: ["qsv", "vaapi", "cuda"])
        replace(av, "open", self._opened)
        return self

    def _opened(self, *location: Any, hwaccel: Any = None, **options: Any) -> Any:
        if location[1:]:
            return self._open(*location, **options)  # a clip is written
        self.opens.append(hwaccel and hwaccel.name)
        if hwaccel is not None and self._lost:
            raise EXTERNAL
        container = self._open(*location, **options)
        if hwaccel is None or not self._knows_codec:
            return container
        real = container.streams.best("video")
        assert real is not None
        context = Proxy(real.codec_context, is_hwaccel=True, pix_fmt=hwaccel.name)
        stream = Proxy(real, codec_context=context)
        self.streams.append(stream)
        packets = self._packets(container.demux(real), context)
        return Proxy(
            container, streams=Proxy(container.streams, best=lambda kind: stream), demux=lambda stream: packets
        )

    def _packets(self, packets: Iterator[Any], context: Proxy) -> Iterator[Any]:
        for number, packet in enumerate(packets):
            if number == self._leaves_from:
                context.pix_fmt = "yuv420p"
            yield Proxy(packet, decode=lambda packet=packet, number=number: self._frames(packet, number))

    def _frames(self, packet: Any, number: int) -> list[Any]:
        frames = packet.decode()
        if number >= self._fails_from:
            raise EXTERNAL
        return [frame.reformat(format="nv12") for frame in frames] if number < self._leaves_from else list(frames)
