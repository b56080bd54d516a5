"""Decodes a video with PyAV; only the sampled frames are kept, and frames nobody needs are not decoded."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import av
import av.error
from av.stream import Discard, Disposition

from operators.capture.picture import Picture
from operators.capture.sources.convert import Converter
from operators.capture.sources.devices import Acceleration, opened
from operators.capture.sources.failures import explained
from operators.capture.sources.frame_times import FrameTimes
from operators.capture.sources.hardware import Hardware
from operators.capture.sources.opening import how_to_open
from operators.capture.sources.sampling import Sampler, Sampling
from operators.capture.sources.uri import SourceUri
from operators.frames.codec import MAX_PIXELS
from serving.errors import SourceError

_THREADS: Final = 2
"""Decoding threads per stream: more would only take cores from other streams."""
_SPARE: Final = 32
"""More packets than any decoder holds back."""
_OPEN_ENDED: Final = ("hls", "mpjpeg")
"""Formats in which the bytes that a server promises are those of a playlist, or more than a camera ever sends."""
_BROKEN_S: Final = 9.0
"""A live stream none of whose packets could be decoded for so long is given up, before it counts as stalled."""
_JOINED_S: Final = 120.0
"""A live stream that is joined between two key frames has no picture until the next one, for no longer than this."""
_DEVICE_FAILURES: Final = 12
"""A device that fails at so many packets of a live stream in a row is given up: half a second at 25 fps.

In a recording, whose frames must all come, the first failure is enough.
"""


class DeviceFailed(SourceError):
    """A device stopped decoding in mid-stream. It has been given up, so the source can be opened anew."""


class VideoReader:
    """An open video. Iterate ``pictures()`` once, then ask ``summary()``. ``SourceError`` if it cannot be opened."""

    def __init__(
        self,
        uri: SourceUri,
        sampling: Sampling,
        max_width: int | None = None,
        *,
        connect_timeout_s: float | None = None,
        read_timeout_s: float | None = None,
        hardware: Hardware | None = None,
        from_s: float = 0.0,
        jpegs: bool = False,
    ) -> None:
        """``hardware``: a device that was tried (``choose_device``), to decode instead of software.

        ``jpegs``: it is one JPEG after the other, whatever stands between them.
        ``from_s``: media time to go to after the first frame, or to a key frame before it, where there is an index.
        """
        self._uri = uri
        self._from_s, self._gone = from_s, False
        self._sampling = sampling
        self._read_timeout_s = read_timeout_s
        with explained(uri, connect_timeout_s):
            hardware, timeout = hardware or Hardware(), (connect_timeout_s, read_timeout_s)
            self._container: Any = opened(how_to_open(uri, timeout, jpegs), hardware)
            if self._container.format.name == "mpjpeg" and not uri.live:  # it believes what parts say of themselves
                self._container.close()
                self._container = opened(how_to_open(uri, timeout, jpegs=True), hardware)
        self._sized = not jpegs and self._container.format.name not in _OPEN_ENDED and self._container.size > 0
        try:
            self._stream = self._choose_stream()
            self._converter = Converter(max_width, float(self._stream.sample_aspect_ratio or 1))
            patience = 1 if self.finite else _DEVICE_FAILURES
            self._acceleration = Acceleration(self._stream.codec_context, hardware, patience)
            self._set_threads()
        except BaseException:
            self._container.close()
            raise
        self._decoded = self._left_out = self._undecodable = self._in_vain = self._damaged = 0
        self._broken_since_s, self._opened_s = 0.0, time.monotonic()
        self._spare: deque[int] = deque(maxlen=_SPARE)
        self._last_s = 0.0
        self._times = FrameTimes(
            self._stream,
            keyframes=sampling.mode == "keyframes",
            endless=not self.finite,
            fps=sampling.fps,
        )
        self._decode_s = 0.0

    @property
    def interval_s(self) -> float:
        return self._times.interval_s

    @property
    def duration_s(self) -> float | None:
        duration = self._container.duration
        return duration / av.time_base if duration and duration > 0 else None

    @property
    def finite(self) -> bool:
        """Whether it is a recording, which has a beginning to go back to: its seconds or its bytes are known."""
        return not self._uri.live or self.duration_s is not None or self._sized

    @property
    def bursts_from_s(self) -> float | None:
        """Where a live stream of segments, each of which comes at once, begins on its own clock; None: it is none."""
        if self.finite or self._container.format.name != "hls":
            return None
        return float((self._stream.start_time or 0) * self._stream.time_base)

    @property
    def codec(self) -> str:
        return str(self._stream.codec_context.name)

    @property
    def decoded(self) -> int:
        """Number of frames that were decoded until now."""
        return self._decoded

    @property
    def size(self) -> tuple[int, int]:
        """Width and height that the header promises."""
        return self._stream.codec_context.width, self._stream.codec_context.height

    def pictures(self, on_progress: Callable[[], None] = lambda: None) -> Iterator[Picture]:
        sampler = Sampler(self._sampling)
        for packet in self._packets():
            joins = not self._decoded and time.monotonic() - self._opened_s < _JOINED_S
            if self._sampling.mode == "keyframes" or self._leave_out(packet) or joins:
                on_progress()  # the decoder skips frames silently
            for frame in self._frames(packet):
                on_progress()
                self._left_out -= frame.pts in self._spare
                self._last_s = self._times.place(frame)
                if sampler.takes(self._last_s):
                    yield self._picture(frame, self._last_s)
        if self._decoded == 0:
            raise SourceError(f"{self._uri}: no frame could be decoded", "decode_error")

    def summary(self) -> str | None:
        notes = []
        promised = 0 if self._gone else self._stream.frames
        if self._sampling.mode != "keyframes" and self._decoded + self._left_out < promised:
            notes.append(f"{self._decoded} of the {promised} frames its header promises could be decoded")
        elif not promised and self._ended_early():
            notes.append(f"it ended at {self._read_s:.1f} s of the {self.duration_s:.1f} s its header promises")
        if self._undecodable:
            notes.append(f"packets that could not be decoded: {self._undecodable}")
        if self._in_vain > _SPARE and not self._uri.live:
            notes.append(f"none could be after {self._last_s:.1f} s: if its codec changes there, cut it there")
        if self._damaged:
            notes.append(f"damaged frames: {self._damaged}")
        return "; ".join(notes) or None

    def close(self) -> None:
        self._container.close()

    @property
    def _read_s(self) -> float:
        """Return how far the video was read, on the clock of the header's duration."""
        return max(self._last_s, self._times.stamped_s)

    def _choose_stream(self) -> Any:
        with explained(self._uri):
            stream = self._container.streams.best("video")
        if stream is None or stream.disposition & Disposition.attached_pic:  # a song's cover is no video
            raise SourceError(f"{self._uri}: has no video in it", "no_video")
        context = stream.codec_context
        if context is None:
            raise SourceError(f"{self._uri}: no decoder for its codec", "codec_unsupported")
        if context.width * context.height > MAX_PIXELS:
            size = f"{context.width}×{context.height}"
            raise SourceError(f"{self._uri}: frames of {size} exceed {MAX_PIXELS // 10**6} megapixels", "too_large")
        for other in self._container.streams:
            if other.index != stream.index:
                other.discard = Discard.all  # the other qualities of a playlist would be fetched, too
        context.options = {"max_pixels": str(MAX_PIXELS)}
        if self._sampling.mode == "keyframes":
            context.skip_frame = "NONKEY"
        return stream

    def _set_threads(self) -> None:
        # frame threads hold frames back, which a camera's latency cannot afford, and give a device nothing to do
        self._stream.thread_type = "SLICE" if self._uri.live or self._acceleration.on else "AUTO"
        self._stream.codec_context.thread_count = _THREADS

    def _packets(self) -> Iterator[Any]:
        packets, stumbled = self._container.demux(self._stream), False
        while True:
            try:
                with explained(self._uri, self._read_timeout_s, opened=True):
                    packet = next(packets, None)
            except SourceError as error:
                if error.reason != "corrupt" or stumbled:
                    raise
                packets, stumbled = self._container.demux(self._stream), True  # its end, or what follows, may be sound
                continue
            if packet is None:
                return
            self._damaged += bool(stumbled and packet.size)
            stumbled = False
            yield packet
            if self._from_s and self._decoded and not self._gone:
                self._go()

    def _go(self) -> None:
        """Go on at the last key frame before ``from_s``; where that fails, with what follows."""
        self._gone = True
        stamp_s = self._times.stamp_s(self._from_s)
        if stamp_s is None:
            return
        try:
            self._container.seek(round(stamp_s / self._stream.time_base), stream=self._stream)
        except av.error.FFmpegError:
            return
        self._times.moved()
        self._spare.clear()

    def _leave_out(self, packet: Any) -> bool:
        """Let the decoder skip the packet's frame if it will not be sampled and no other frame refers to it."""
        self._left_out += packet.is_discard  # an edit list cuts its frame off
        if self._sampling.mode != "fps":
            return False
        context = self._stream.codec_context
        # a decoder that reorders frames would hold the others back until more have come
        shown = not (packet.is_discard or (self._uri.live and context.has_b_frames))
        spare = shown and self._times.is_spare(packet)
        context.skip_frame = "NONREF" if spare else "DEFAULT"
        if spare:
            self._left_out += 1
            self._spare.append(packet.pts)
        return spare

    def _frames(self, packet: Any) -> list[Any]:
        started = time.perf_counter()
        self._times.fed(packet)
        try:
            frames: list[Any] = packet.decode() + self._held_back(packet)
            if self._sampling.mode == "keyframes":
                frames = [frame for frame in frames if frame.key_frame]  # the decoder of VP9 skips none
        except av.error.DecoderNotFoundError:
            raise SourceError(f"{self._uri}: no decoder for its codec", "codec_unsupported") from None
        except av.error.FFmpegError as error:
            if self._acceleration.failed(error):
                raise DeviceFailed(f"{self._uri}: the device no longer decodes it", "decode_error") from None
            if self._decoded == 0 and isinstance(error, BlockingIOError | MemoryError):
                refused = "its decoder was refused memory or threads: give the process more"
                raise SourceError(f"{self._uri}: {refused}", "error") from None
            if not self._undecodable:
                self._broken_since_s = started
            self._undecodable += 1  # its neighbours may well be sound
            self._in_vain += 1
            if self._uri.live and started - self._broken_since_s >= _BROKEN_S:
                raise SourceError(f"{self._uri}: its pictures cannot be decoded", "decode_error") from None
            return []
        finally:
            self._decode_s += time.perf_counter() - started
        if frames:
            self._acceleration.came()
            self._in_vain = 0
        self._decoded += len(frames)
        self._damaged += sum(frame.is_corrupt for frame in frames)
        if frames and self._uri.live:
            self._undecodable = 0
        return frames

    def _held_back(self, packet: Any) -> list[Any]:
        """Where key frames alone are decoded, those that the decoder holds back: it waits for frames that it skips,
        mixes up the order of the others, and loses some."""
        context = self._stream.codec_context
        if self._sampling.mode != "keyframes" or not (packet.is_keyframe and context.has_b_frames):
            return []
        try:
            return list(context.decode(None))
        finally:
            context.flush_buffers()

    def _picture(self, frame: Any, media_time_s: float) -> Picture:
        started = time.perf_counter()
        with explained(self._uri):
            pixels = self._converter.pixels(frame)
        spent_s, self._decode_s = self._decode_s + time.perf_counter() - started, 0.0
        return Picture(pixels, media_time_s, time.monotonic(), spent_s * 1e3)

    def _ended_early(self) -> bool:
        if self._sampling.mode == "keyframes" or self.duration_s is None or self._times.jumps:
            return False
        return self._read_s + self.interval_s < self.duration_s - max(1.0, 0.02 * self.duration_s)
