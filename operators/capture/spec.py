"""A source and how to capture it: plain data, checked when made."""

from __future__ import annotations

from dataclasses import dataclass, field

from operators.capture.lead_in import Resumption
from operators.capture.sources.hardware import HWACCELS, SOFTWARE
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from operators.wire.bounds import ID_CHARS, is_id
from serving.common.retrying import Backoff
from serving.common.untrusted import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSpec:
    """One stream to capture. Only ``stream`` and ``uri`` must be given."""

    stream: str
    uri: SourceUri
    sampling: Sampling = field(default_factory=Sampling)
    motion_gate: bool = False
    """Pass on only frames in which something moved."""
    max_width: int | None = 1920
    """Pixels; larger frames are scaled down."""
    limit: int | None = None
    """End after this many sampled frames."""
    hwaccel: str = SOFTWARE
    """The device that decodes video where it can, one of ``HWACCELS``."""

    realtime: bool = False
    """Make a file behave like a camera: paced by its media time, and not waiting for a slow consumer."""
    loop: bool = False
    """Start a file over when it ends; media time and sequence numbers count on."""
    resumed: Resumption | None = None
    """The run of a recording that goes on; None: a new one."""
    background: bool = False
    """Decode with the least priority of the processor, where the system has priorities of threads."""

    connect_timeout_s: float = 10.0
    stall_timeout_s: float = 10.0
    """Without a frame for this long, a live source is restarted."""
    freeze_timeout_s: float | None = 60.0
    """With the same picture for this long, a live source is restarted; None: never."""
    backoff: Backoff = field(default_factory=Backoff)
    give_up_after_s: float | None = None
    """Without a frame for this long, a live source has failed; None: try for ever."""

    def __post_init__(self) -> None:
        if not is_id(self.stream):
            name = printable(self.stream, 40)
            raise ValueError(f"stream {name!r} must have 1 to {ID_CHARS} characters, none of them a control character")
        if self.hwaccel not in HWACCELS:
            raise ValueError(f"hwaccel must be one of {', '.join(HWACCELS)}, not {printable(self.hwaccel, 40)!r}")
        if self.resumed is not None and (self.uri.live or self.loop):
            raise ValueError("only the run of a recording that is not looped can go on")
        for name in (
            "max_width",
            "limit",
            "connect_timeout_s",
            "stall_timeout_s",
            "freeze_timeout_s",
            "give_up_after_s",
        ):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be positive, not {value}")
