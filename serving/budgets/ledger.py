"""The file that knows what was spent of a query's budgets on this day: it survives the process, and the processes of a
query on one machine share it."""

from __future__ import annotations

import fcntl
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from serving.budgets.frequency import KeptFrequency
from serving.budgets.terms import FURTHER, MOST_NAMED, BudgetStanding, Settlement
from serving.common import files
from serving.common.untrusted import decode
from serving.errors import BadInput, Malformed

log = logging.getLogger(__name__)

LARGEST_BYTES = 1 << 20
LOCK_TRIES, LOCK_PAUSE_S = 50, 0.01
"""A process that stands still while it holds the file holds up others for so long, and no longer."""
MOST_HOLDERS = 200
"""Budgets of one query, and nodes that draw on one; nodes and backends are fewer. Of budgets that the query had under
other names the oldest are forgotten."""

Spending = Annotated[float, Meta(ge=0, le=1e18)]
Name = Annotated[str, Meta(min_length=1, max_length=300)]


class HolderDay(msgspec.Struct, forbid_unknown_fields=True):
    day: Annotated[datetime, Meta(tz=True)]
    """When it began."""
    taken: Spending = 0.0
    spent: Annotated[dict[Name, Spending], Meta(max_length=MOST_NAMED + 1)] = {}
    asked: Annotated[dict[Name, tuple[Spending, Spending]], Meta(max_length=MOST_HOLDERS)] = {}
    """By node, whatever the day: ``KeptFrequency``."""


class LedgerFile(msgspec.Struct, forbid_unknown_fields=True):
    schema: Literal["sluice.budgets/1"] = "sluice.budgets/1"
    budgets: Annotated[dict[Name, HolderDay], Meta(max_length=MOST_HOLDERS)] = {}


class FileLedger:
    """Written whenever a process takes another part of a budget, some hundred times a day; a ``DayLedger``."""

    def __init__(self, path: Path) -> None:
        """Raises BadInput where the file is damaged or the place cannot be used: spending must not be forgotten."""
        self._path = path
        self._known = LedgerFile()
        self._owed: list[Settlement] = []
        """Those that could not be written, of days that last: no more than a day has parts."""
        with self._locked():
            self._known = self._read()
            self._write()

    def settle(self, wanted: Settlement) -> BudgetStanding:
        """See ``DayLedger``. Where the file has become unusable, what this process knows of it counts on."""
        owed = [each for each in self._owed if each.holder != wanted.holder or each.day >= wanted.day]
        standing = None
        try:
            with self._locked():
                self._known = self._read()
                for each in owed:
                    self._changed(each)
                standing = self._changed(wanted)
                self._write()
        except BadInput as error:
            if not self._owed:
                log.warning("what is spent from now on is not kept for the next process: %s", error)
            self._owed = [*owed, wanted] if wanted.change or wanted.spent else owed
            return standing or self._changed(wanted)
        self._owed = []
        return standing

    def _changed(self, wanted: Settlement) -> BudgetStanding:
        holder, day, change, most, spent, asked = wanted
        known = self._known.budgets.get(holder)
        if known is None or known.day < day:
            known = self._known.budgets[holder] = HolderDay(day, asked={} if known is None else known.asked)
            if len(self._known.budgets) > MOST_HOLDERS:
                del self._known.budgets[min(self._known.budgets, key=lambda each: self._known.budgets[each].day)]
        granted = min(change, max(most - known.taken, 0.0))
        known.taken = max(known.taken + granted, 0.0)
        for model, cost in spent.items():
            name = model if model in known.spent or len(known.spent) < MOST_NAMED else FURTHER
            known.spent[name] = known.spent.get(name, 0.0) + cost
        for node, kept in asked.items():
            if node in known.asked or len(known.asked) < MOST_HOLDERS:
                known.asked[node] = kept
        often = {node: KeptFrequency(*each) for node, each in known.asked.items()}
        return BudgetStanding(granted, known.taken, dict(known.spent), often)

    def _read(self) -> LedgerFile:
        try:
            with self._path.open("rb") as file:
                return decode(file.read(LARGEST_BYTES + 1), LedgerFile, LARGEST_BYTES)
        except FileNotFoundError:
            return LedgerFile()
        except OSError as error:
            raise BadInput(f"{self._path}: cannot be read ({error.strerror or error})") from error
        except Malformed as error:
            raise BadInput(
                f"{self._path}: what was spent of the budgets cannot be read ({error}): repair the file, or remove it "
                "to begin the day anew"
            ) from None

    def _write(self) -> None:
        files.write(self._path, msgspec.json.encode(self._known))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time; the lock goes with its process. It is held for about a millisecond."""
        lock = self._path.with_suffix(".lock")
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            with lock.open("ab") as file:
                _lock(file.fileno())
                yield
        except OSError as error:
            raise BadInput(f"{lock}: cannot be used ({error.strerror or error})") from error


def _lock(file: int) -> None:
    """Lock an open file; OSError where another process holds it all the time."""
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(LOCK_PAUSE_S)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
