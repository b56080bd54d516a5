"""The two kinds of exits as shortcuts: of single streams, and of all streams together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from operators.recognise.audits.node_stream import NodeStream
from operators.recognise.exits.account import ExitAccount
from operators.recognise.exits.cut_oracle import CutOracle
from operators.recognise.exits.figures import classes_of, specialization
from operators.recognise.exits.saved_state import SpecialisedState
from operators.recognise.exits.specialised import SpecialisedStream
from operators.wire.schema import ShortcutKind, Specialization
from serving.common.untrusted import decode

if TYPE_CHECKING:
    from cache_adapt.learned.rows import ExitRows
    from operators.recognise.exits.heard_exits import ExitsInUse, HeardExits

log = logging.getLogger(__name__)


class SpecialisedExits:
    """Each stream has exits of its own, as WEG wants them."""

    kind: ShortcutKind = "specialised"
    key = "specialised"

    def __init__(self, cut: CutOracle, fresh: Callable[[str], SpecialisedStream], is_asked_for: bool = True) -> None:
        """``fresh``: makes the state of a new stream; ``is_asked_for``: whether the query says that it wants them."""
        self.models = (cut.oracle,)
        self._cut, self._fresh, self._is_asked_for = cut, fresh, is_asked_for
        self._streams: dict[str, SpecialisedStream] = {}

    def of(self, stream: str) -> SpecialisedStream:
        """A stream's state; that of a new stream is made."""
        if stream not in self._streams:
            self._streams[stream] = self._fresh(stream)
        return self._streams[stream]

    def answered(self, stream: NodeStream, word: str, by_exits: bool, shadow: bool | None) -> None:
        """Take the answer for an object; ``shadow``: its exits could only be heard, None: they were not asked."""
        known, audit = self.of(stream.name), stream.audits.of(self.key)
        used = known.in_use
        number = used.number if used is not None and shadow is not None and audit.phase != "off" else None
        known.answered(word, by_exits, bool(shadow) or not audit.uses_shortcut, number)

    def snapshot(self, stream: str) -> bytes | None:
        """Return WEG's state and the exits, as JSON; None for an unknown stream."""
        known = self._streams.get(stream)
        return None if known is None else msgspec.json.encode(known.state())

    def restore(self, stream: str, data: bytes) -> None:
        """Go on with the state that another worker saved; Malformed for damaged data."""
        self.of(stream).restore(decode(data, SpecialisedState))

    def why_silent(self, stream: str) -> str | None:
        """Why they do not answer, in one sentence, where that is known."""
        known = self._streams.get(stream)
        if known is None:
            return None
        if self._cut.why_not is not None or known.in_use is not None:
            return self._cut.why_not
        return known.reason or self._cut.why_none_yet(known.account.looks)

    def note(self, stream: NodeStream) -> None:
        """Note WEG's phase of a stream in its tally."""
        weg, words = self.of(stream.name).weg.state, self.of(stream.name).words
        if stream.tally is not None:
            stream.tally.entered(weg.phase, classes_of(weg, words), len(weg.previous))

    def told(self, stream: NodeStream) -> Specialization | None:
        """The figures of a stream; None where they were not asked for, and no exits have been made."""
        known = self._streams.get(stream.name)
        if known is None or stream.tally is None:
            return None
        if not self._is_asked_for and not (known.weg.state.numbers > 0 and self._cut.is_open):
            return None
        reason = self.why_silent(stream.name)
        return specialization(stream.tally, known.weg.state, known.words, known.account.seconds, reason)

    def forget(self, stream: str) -> None:
        if (known := self._streams.pop(stream, None)) is not None:
            known.close()

    def close(self) -> None:
        for known in self._streams.values():
            known.close()


class SharedExits:
    """All streams of a node share their exits. Their number tells them from those of other workers."""

    kind: ShortcutKind = "cached"
    key = "cached"

    def __init__(self, cut: CutOracle, tuner: Callable[[], HeardExits]) -> None:
        """``tuner``: makes what has exits made and tunes them, once the network is cut."""
        self.models = (cut.oracle,)
        self._cut, self._tuner = cut, tuner
        self._tuned: HeardExits | None = None
        self.used: ExitsInUse | None = None
        self._streams: dict[str, SharedOnStream] = {}

    def of(self, stream: str) -> SharedOnStream:
        if stream not in self._streams:
            self._streams[stream] = SharedOnStream(stream, self)
        return self._streams[stream]

    def why_silent(self, stream: str) -> str | None:
        mine, why = self._streams.get(stream), self._cut.why_not
        left = "they cost more than they save" if mine is not None and mine.left else None
        if why is None and left is None and self.used is not None:
            return None
        waits = "their network is not cut yet" if self._tuned is None else self._tuned.waits_for
        return f"exits are not used: {why or left or waits}"

    @property
    def tuned(self) -> HeardExits:
        """The exits; nothing of that is there before the network is cut."""
        if self._tuned is None:
            self._tuned = self._tuner()
        return self._tuned

    def go_on(self, stream: str) -> bool:
        """Do what is due, with a stream's looks, once the network is cut; whether others are in use now."""
        tuned = self.tuned
        tuned.begin()
        tuned.go_on(stream, None)
        found, tuned.found = tuned.found, None
        if found is None or not tuned.is_better(found, self.used):
            return False
        self.used = tuned.used(found, crc32(repr(found.thresholds).encode(), crc32(tuned.data)))
        for each in self._streams.values():
            each.left = False
        return True

    def doubt(self) -> None:
        """Have those in use give way to any that pay: they spare less on a stream than was thought."""
        if self.used is not None:
            self.used = replace(self.used, spared=0.0)

    def forget(self, stream: str) -> None:
        self._streams.pop(stream, None)

    def close(self) -> None:
        if self._tuned is not None:
            self._tuned.close()


class SharedOnStream:
    """Exits of all streams on one of them."""

    wants_taps = True

    def __init__(self, stream: str, shared: SharedExits) -> None:
        self._stream, self._shared = stream, shared
        self.account, self.left = ExitAccount(), False
        """Whether the exits in use do not pay here."""

    @property
    def in_use(self) -> ExitsInUse | None:
        return None if self.left else self._shared.used

    def took(self, looks: ExitRows, whole: NDArray[np.bool_]) -> None:
        self._shared.tuned.heard(self._stream, looks, whole)

    def go_on(self) -> bool:
        return self._shared.go_on(self._stream)

    def leave(self, why: str) -> None:
        log.info("stream %s: exits are left: %s", self._stream, why)
        self.account.left(gained=False)
        self.left = True

    def barred(self) -> None:
        self.account.left(gained=False)
        self._shared.doubt()


ExitKind = SpecialisedExits | SharedExits
