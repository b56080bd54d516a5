"""Which networks are on the device: loaded when they are asked for, evicted where others need their memory."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from serving import eviction
from serving.device import Device
from serving.errors import SluiceError
from serving.groups import Group
from serving.latency import LatencyEstimate, LatencyTable
from serving.monitor import Monitor
from serving.opening import Source, partners
from serving.residency import NoRoom, Residency, TooLarge
from serving.schedule import Schedule, Session

log = logging.getLogger(__name__)

Members = tuple[Source, ...]
"""Models that are loaded, run and evicted as one: a single one, or several that have a prefix in common."""
Opener = Callable[[Sequence[Source], int], Group]


class Loader:
    """Keeps the sessions of the loaded groups. Loads one at a time, so that the memory of each can be measured."""

    def __init__(self, device: Device, memory_bytes: int | None, threads: int, max_batch: int, opener: Opener) -> None:
        """``memory_bytes``: what all may take together; None: no bound."""
        self._device, self._threads, self._max_batch, self._opener = device, threads, max_batch, opener
        self._residency = Residency(memory_bytes or sys.maxsize, eviction.default())
        self._members: dict[str, Members] = {}
        self._sessions: dict[str, Session] = {}
        """By key, of the loaded groups."""
        self._one_at_a_time = asyncio.Lock()
        self._unpinned = asyncio.Event()

    def session(self, model: str) -> Session | None:
        """The session of a model that is loaded."""
        members = self._members.get(model)
        return None if members is None else self._sessions.get(key_of(members))

    def requested(self, model: str) -> None:
        """A loaded model is asked once more; one that has to be loaded counts as asked by that."""
        self._residency.requested(key_of(self._members[model]), time.monotonic())

    @contextmanager
    def pinned(self, model: str) -> Iterator[None]:
        """While this lasts, a loaded model stays."""
        self._residency.pin(key_of(self._members[model]))
        try:
            yield
        finally:
            # Its group may be another one by now.
            self._residency.unpin(key_of(self._members[model]))
            self._unpinned.set()

    async def load(self, source: Source) -> None:
        """Put a model on the device unless it is there; ModelError where that fails."""
        async with self._one_at_a_time:
            if self.session(source.name) is None:
                members = self._members.get(source.name) or await self._joined(source)
                try:
                    await self._load(members)
                except TooLarge:
                    if len(members) == 1:
                        raise
                    await self._load((source,))  # together they do not fit, but one at a time they may

    async def _joined(self, source: Source) -> Members:
        """The model together with those that it has a prefix in common with, or by itself."""
        groups = list(dict.fromkeys(self._members.values()))
        return (*await asyncio.to_thread(partners, source, groups), source)

    async def _load(self, members: Members) -> None:
        key = key_of(members)
        self._residency.requested(key, time.monotonic())
        while True:
            await self._make_room(members)
            started = time.monotonic()
            group = await self._opened(members)
            try:
                evicted = self._residency.loaded(key, group.memory_bytes(), time.monotonic() - started)
            except SluiceError as error:
                await asyncio.to_thread(group.close)
                if not isinstance(error, NoRoom):
                    raise
                continue  # it is larger than was expected, and what could make room is in use: wait for that
            await self._evict(evicted)
            return await self._enter(members, group)

    async def _opened(self, members: Members) -> Group:
        try:
            return await asyncio.to_thread(self._opener, members, self._threads)
        except BaseException:
            self._residency.released(key_of(members))
            raise

    async def _make_room(self, members: Members) -> None:
        """Evict until the group's expected memory is free, waiting for networks in use where nothing else can go."""
        key = key_of(members)
        expected = self._residency.expected_bytes(key, sum(source.path.stat().st_size for source in members))
        while True:
            self._unpinned.clear()
            try:
                evicted = self._residency.admit(key, expected)
            except NoRoom:
                await self._unpinned.wait()
            else:
                return await self._evict(evicted)

    async def _evict(self, keys: Sequence[str]) -> None:
        for key in keys:
            session = self._sessions.pop(key)
            self._device.change(partial(_remove, session=session))
            await asyncio.to_thread(session.group.close)
            log.info("%s is unloaded to make room", key)

    async def _enter(self, members: Members, group: Group) -> None:
        """The group takes its place on the device, and that of the smaller group it grew from."""
        limit = min(self._max_batch, group.batch_limit or self._max_batch)
        # What was measured holds for a network by itself, not for several that share one.
        known = members[0].latency_s if len(members) == 1 else {}
        monitor = Monitor(LatencyTable(known) if known else None, limit, time.monotonic())
        session = Session(key_of(members), group, limit, LatencyEstimate(known), monitor)
        smaller = key_of(members[:-1])
        old = self._sessions.pop(smaller, None)
        self._members |= dict.fromkeys((source.name for source in members), members)
        self._sessions[session.name] = session
        self._device.change(lambda schedule: _put(schedule, old, session))
        if old is not None:
            self._residency.merged(smaller, into=session.name)
            await self._device.settled()
            await asyncio.to_thread(old.group.close)


def key_of(members: Members) -> str:
    """The name of a group, for accounts and messages."""
    return " + ".join(source.name for source in members)


def _remove(schedule: Schedule, session: Session) -> None:
    schedule.remove(session)


def _put(schedule: Schedule, old: Session | None, new: Session) -> None:
    if old is None:
        schedule.add(new)
    else:
        schedule.replace(old, new)
