"""The hooks of those that watch a run, a worker or a capture: one for each thing that happens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from operators.wire.adaptation import Disagreement
from operators.wire.schema import Counts, Event, FrameHeader, Result, ShortcutKind, StreamStatus
from serving.common.engine_observer import EngineObserver
from serving.common.redaction import redact
from serving.common.tensors import Image

if TYPE_CHECKING:
    from serving.budgets.terms import BudgetReport

log = logging.getLogger(__name__)


class Observer(EngineObserver):
    """Every hook does nothing: override those you want.

    A hook must return at once: a frame, or all frames, wait for it. It must not change what it is given. Each hook says
    who calls it: the event loop, a stream's capture threads, or the device's thread. Hooks of different threads may be
    called at the same time; hooks of the event loop are called one after the other.
    """

    def frame_captured(self, stream: str, seq: int) -> None:
        """Capture has sampled a frame. Called by a capture thread of the stream, in order of ``seq``."""

    def frame_replaced(self, header: FrameHeader) -> None:
        """A newer frame took the place of one that nobody had taken yet: its header goes on without the image.

        Called by a capture thread of the stream, in order of ``seq``.
        """

    def stream_state_changed(self, status: StreamStatus) -> None:
        """A source has begun, was lost, came back, or ended. Called by a capture thread of the stream, in order."""

    def frame_analysed(self, result: Result) -> None:
        """The result of a frame that was analysed has been published.

        Called on the event loop; results of one stream come in order, so do those of the next two hooks among them.
        """

    def frame_dropped(self, result: Result) -> None:
        """The result of a frame that was given up has been published; ``result.cause`` says why. On the event loop."""

    def frame_failed(self, result: Result) -> None:
        """The result of a frame that failed has been published; ``result.cause`` says why. On the event loop."""

    def frames_missing(self, stream: str, count: int) -> None:
        """So many frames of a run, which capture has numbered, never came: they get no result. On the event loop."""

    def frame_left_out(self, header: FrameHeader, cause: str) -> None:
        """A worker does not look at a frame, which gets no result, as the query asks for fewer. On the event loop.

        ``cause``: ``sample``, ``motion_gate``, or ``repeated``: a worker before this one has left it out.
        """

    def event_found(self, event: Event | Counts) -> None:
        """A result has shown that a track, a zone or a line has something to tell, which may not be published yet.

        Called on the event loop, in the order of each stream.
        """

    def node_ran(self, stream: str, node: str, took_ms: float, regions: int) -> None:
        """A node of the query is done with a frame; called neither where it raised nor where the frame was given up.

        ``regions``: how many it has found, or has been given if it finds none. Called on the event loop.
        """

    def shortcut_answered(self, stream: str, node: str, kind: ShortcutKind, count: int) -> None:
        """A shortcut gave so many answers, one or more, for a frame. Called on the event loop."""

    def budget_stands(self, report: BudgetReport) -> None:
        """A budget of a day was drawn on; called on the event loop, once a second for each budget, and at the end."""

    def audit_done(self, stream: str, node: str, kind: ShortcutKind, agrees: bool) -> None:
        """A shortcut's answer for an object, in the shadow or in service, was compared with a sure oracle's.

        Called on the event loop.
        """

    def audit_disagreed(self, found: Disagreement, picture: Image | None) -> None:
        """An audit has found a shortcut and the oracle to say different things, and of what; on the event loop.

        ``picture``: the object, or the frame, pixels × 3 (BGR), which must be copied to be kept; None: nobody has it.
        """

    def exits_made(self, stream: str, node: str, classes: tuple[str, ...], used: bool) -> None:
        """Exits of the stream's own have been made; not ``used``: they are not worth it. Called on the event loop."""

    def worker_waits(self, reason: str) -> None:
        """A worker cannot begin its work yet, or begins anew, for this reason. Called on the event loop."""

    def worker_checked(self, waiting: Mapping[int, int], oldest_s: float, problem: str | None) -> None:
        """A worker was looked at, which happens every second; or a capture, by its main thread. Else on the event loop.

        ``waiting``: messages of each partition of the frames topic that are not answered; ``oldest_s``: age of the
        oldest of them, 0 where none waits; ``problem``: why it makes no progress, None while it is well.
        """

    def notification_ended(self, sink: str, outcome: str) -> None:
        """A notification was delivered to a sink, or given up for the reason that ``outcome`` names. On the event loop.

        ``sink``: its name in the file of sinks.
        """

    def sink_checked(self, sink: str, waiting: int) -> None:
        """A sink was looked at: so many messages wait for it, some of which it may not want. On the event loop."""

    def stream_dropped(self, stream: str) -> None:
        """All that was known of a stream has been dropped: it ended, moved away, or was silent. On the event loop."""


HOOKS = tuple(name for name in dir(Observer) if not name.startswith("_"))
"""The names of all hooks."""


def frame_answered(observer: Observer, result: Result) -> None:
    """Tell that a result has been published, by the hook for its outcome."""
    match result.outcome:
        case "analysed":
            observer.frame_analysed(result)
        case "dropped":
            observer.frame_dropped(result)
        case "failed":
            observer.frame_failed(result)


class Observers(Observer):
    """Tells several observers. One that raises disturbs neither the others nor the frame: it is logged, once."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        watching = tuple(observers)
        for hook in HOOKS:
            listeners = [getattr(each, hook) for each in watching if _overrides(each, hook)]
            if listeners:  # else the hook stays the one that does nothing
                setattr(self, hook, _telling(hook, listeners))


UNOBSERVED = Observers()
"""Nobody watches."""


def _overrides(observer: Observer, hook: str) -> bool:
    return getattr(getattr(observer, hook), "__func__", None) is not getattr(Observer, hook)


def _telling(hook: str, listeners: list[Callable[..., None]]) -> Callable[..., None]:
    silenced: set[Callable[..., None]] = set()

    def tell(*said: Any) -> None:
        for listener in listeners:
            try:
                listener(*said)
            except Exception as error:
                if listener not in silenced:
                    silenced.add(listener)
                    _log(listener, hook, error)

    return tell


def _log(listener: Callable[..., None], hook: str, error: Exception) -> None:
    """In one line; with the trace where everything is logged."""
    who = type(getattr(listener, "__self__", listener)).__name__
    why = redact(f"{type(error).__name__}: {error}")
    trace = error if log.isEnabledFor(logging.DEBUG) else None
    log.warning("observer %s: %s raised %s; this is logged once", who, hook, why, exc_info=trace)
