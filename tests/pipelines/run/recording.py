"""An observer that notes every hook that is called, with what, and in which thread."""

from __future__ import annotations

import threading
from collections import defaultdict
from functools import partial
from types import MethodType
from typing import Any

from operators.observer import HOOKS, Observer


class Recording(Observer):
    """Calls by hook."""

    def __init__(self, *, raises: bool = False) -> None:
        self.calls: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self.threads: defaultdict[str, set[str]] = defaultdict(set)
        for hook in HOOKS:
            setattr(self, hook, MethodType(partial(_note, hook, raises), self))


def _note(hook: str, raises: bool, recording: Recording, *said: Any) -> None:
    recording.calls[hook].append(said)
    recording.threads[hook].add(threading.current_thread().name)
    if raises:
        raise RuntimeError(f"{hook} is not wanted")
