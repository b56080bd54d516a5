"""Which networks are on the device: loaded when they are asked for, evicted where others need their memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from serving.common.clock import SYSTEM, Clock
from serving.common.engine_observer import UNOBSERVED, EngineObserver
from serving.common.explain import first_line
from serving.common.threads import ThreadTime, in_own_thread
from serving.engines.execution_device import free_bytes, max_batch
from serving.engines.groups import Group
from serving.errors import ModelError, OutOfService, SluiceError
from serving.loading.eviction import Forecast
from serving.loading.opening import partners
from serving.loading.residency import UNBOUNDED, NoRoom, Residency, TooLarge
from serving.scheduling.device import Device
from serving.scheduling.estimates import LatencyEstimate
from serving.scheduling.limits import NetworkBounds, Stopwatch
from serving.scheduling.requests import Request, give_answers
from serving.scheduling.schedule import Schedule, Session
from serving.variants.artefacts import ResolvedModel

log = logging.getLogger(__name__)

Members = tuple[ResolvedModel, ...]
"""Models that are loaded, run and evicted as one: a single one, several that have a prefix in common, or halves."""
Opener = Callable[[Sequence[ResolvedModel], int], Group]


GPU_SHARE = 0.9
"""Share of a GPU's free memory that networks may take where no bound is set: it fails where there is no more."""


class Loader:
    """Keeps the sessions of the loaded groups. Loads one at a time, so that the memory of each can be measured."""

    def __init__(
        self, bounds: NetworkBounds, opener: Opener, clock: Clock = SYSTEM, observer: EngineObserver = UNOBSERVED
    ) -> None:
        self.device, self._clock = Device(bounds.batch_s, self._overran, self._hangs, clock, observer), clock
        self.hung = asyncio.Event()
        """A network did not return and cannot be ended: nothing is run any more."""
        self._observer = observer
        self._bounds, self._opener = bounds, opener
        self._residency = Residency(bounds.memory_bytes or UNBOUNDED, Forecast())
        self._members: dict[str, Members] = {}
        self._sessions: dict[str, Session] = {}
        """By key, of the loaded groups."""
        self._out_of_service: dict[str, str] = {}
        """By model: why it is not run again."""
        self._one_at_a_time = asyncio.Lock()
        self._took = ThreadTime()
        self._unpinned = asyncio.Event()

    def session(self, model: str) -> Session | None:
        members = self._members.get(model)
        return None if members is None else self._sessions.get(key_of(members))

    @property
    def loaded(self) -> list[str]:
        """The models on the device, by the names that they were loaded by."""
        return [model for model in self._members if self.session(model) is not None]

    def run_with(self, model: str) -> frozenset[str]:
        """All models that are run as one with a model that is loaded, itself included; none where it is not."""
        found = () if self.session(model) is None else self._members[model]
        return frozenset(member.name for member in found)

    def requested(self, model: str) -> None:
        """A loaded model is asked once more; one that has to be loaded counts as asked by that."""
        self._residency.requested(key_of(self._members[model]), self._clock.monotonic_s())

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

    async def load(self, source: ResolvedModel) -> float:
        """Put a model on the device unless it is there; ModelError where that fails. Returns the processor seconds.

        It goes on where its caller gives up: one that takes longer than callers wait would never be there.
        """
        loading = asyncio.ensure_future(self._loaded(source))
        loading.add_done_callback(lambda done: done.cancelled() or done.exception())  # which nobody may wait for
        return await asyncio.shield(loading)

    async def _loaded(self, source: ResolvedModel) -> float:
        async with self._one_at_a_time:
            before_s = self._took.seconds
            self.check_in_service(source.name)
            if self.session(source.name) is None:
                members = await self._members_with(source)
                try:
                    await self._load(members)
                except TooLarge:
                    if len(members) == 1:
                        raise
                    await self._load((source,))  # together they do not fit, but one at a time they may
            return self._took.seconds - before_s

    async def unload(self, model: str) -> None:
        """Take a model from the device, with those that it is run with, once nobody uses it.

        They are loaded again when they are asked for.
        """
        async with self._one_at_a_time:
            while (session := self.session(model)) is not None:
                self._unpinned.clear()
                if self._residency.is_pinned(session.name):
                    await self._unpinned.wait()
                else:
                    self._residency.released(session.name)
                    await self._evict([session.name])

    def check_in_service(self, model: str) -> None:
        """Raise OutOfService where a model did not return before."""
        if model in self._out_of_service:
            raise OutOfService(self._out_of_service[model])

    async def _members_with(self, source: ResolvedModel) -> Members:
        """The model together with those that it has a prefix in common with, or by itself."""
        known = self._members.get(source.name)
        if known and self._in_service(known):
            return known
        groups = [members for members in dict.fromkeys(self._members.values()) if self._in_service(members)]
        return (*await asyncio.to_thread(self._took.of(partial(partners, source, groups))), source)

    def _in_service(self, members: Members) -> bool:
        return not any(member.name in self._out_of_service for member in members)

    def _overran(self, requests: Sequence[Request]) -> None:
        """A batch took too long: its models are not run again, and who waits for them or beside them is told."""
        models = list(dict.fromkeys(request.model for request in requests))
        items = sum(request.items for request in requests)
        error = self._take_out(models, f"a batch of {items}", self._bounds.batch_s)
        log.error("%s", error)
        waiting = [*requests]
        for session in {session for model in models if (session := self.session(model)) is not None}:
            del self._sessions[session.name]
            self._residency.released(session.name)
            self.device.change(partial(Schedule.remove, session=session))
            self._observer.model_unloaded(session.name)
            waiting += session.waiting + session.background
        give_answers(waiting, error)
        self._unpinned.set()

    def _hangs(self) -> None:
        error = OutOfService("another model did not return and cannot be ended: start the process anew without it")
        waiting = [each for session in self._sessions.values() for each in (*session.waiting, *session.background)]
        give_answers(waiting, error)
        self.hung.set()

    def _take_out(self, models: Sequence[str], what: str, limit_s: float) -> OutOfService:
        names = ", ".join(map(repr, models))
        error = OutOfService(
            f"model {names} did not return from {what} within {limit_s:g} s and is out of service until the process is "
            "started anew: look for an endless loop in it, or set SLUICE_MODEL_TIMEOUT to more seconds"
        )
        self._out_of_service |= dict.fromkeys(models, str(error))
        return error

    async def _load(self, members: Members) -> None:
        key = key_of(members)
        if self._residency.budget_bytes == UNBOUNDED and (free := await asyncio.to_thread(free_bytes)) is not None:
            self._residency.budget_bytes = round(GPU_SHARE * free)
        self._residency.requested(key, self._clock.monotonic_s())
        while True:
            await self._make_room(members)
            started = self._clock.monotonic_s()
            group = await self._opened(members)
            took_s, memory_bytes = self._clock.monotonic_s() - started, group.memory_bytes()
            try:
                evicted = self._residency.loaded(key, memory_bytes, took_s)
            except SluiceError as error:
                await asyncio.to_thread(group.close)
                if not isinstance(error, NoRoom):
                    raise
                continue  # it is larger than was expected, and what could make room is in use: wait for that
            await self._evict(evicted)
            await self._enter(members, group)
            return self._observer.model_loaded(key, took_s, memory_bytes)

    async def _opened(self, members: Members) -> Group:
        opening = in_own_thread(self._took.of(partial(self._opener, members, self._bounds.threads)), "loading")
        limit_s = self._bounds.load_s
        watch = Stopwatch(limit_s)
        try:
            while not opening.done() and watch.taken_s(opening, self._clock.monotonic_s()) < limit_s:
                await asyncio.wait([opening], timeout=watch.look_every_s)
            if opening.done():
                return opening.result()
            raise self._take_out([members[-1].name], "being loaded and run once", limit_s)
        except BaseException as error:
            opening.cancel()
            self._residency.released(key_of(members))
            if isinstance(error, SluiceError) or not isinstance(error, Exception):
                raise
            raise ModelError(f"model {members[-1].name!r} cannot be opened: {first_line(error)}") from error

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
            self.device.change(partial(Schedule.remove, session=session))
            await asyncio.to_thread(session.group.close)
            self._observer.model_unloaded(key)
            log.info("%s is unloaded", key)

    async def _enter(self, members: Members, group: Group) -> None:
        """The group takes its place on the device, and that of the smaller group it grew from."""
        most = self._bounds.max_batch or max_batch()
        limit = min(most, group.batch_limit or most)
        # What was measured holds for a network by itself, not for several that share one.
        known = members[0].latency_s if len(members) == 1 else {}
        session = Session(key_of(members), group, limit, LatencyEstimate(known))
        smaller = key_of(members[:-1])
        old = self._sessions.pop(smaller, None)
        self._members |= dict.fromkeys((source.name for source in members), members)
        self._sessions[session.name] = session
        if old is None:
            self.device.change(partial(Schedule.add, session=session))
        else:
            self.device.change(partial(Schedule.replace, old=old, new=session))
            self._residency.merged(smaller, into=session.name)
            await self.device.settled()
            await asyncio.to_thread(old.group.close)
            self._observer.model_unloaded(smaller)


def key_of(members: Members) -> str:
    """The name of a group, for accounts and messages."""
    return " + ".join(source.name for source in members)
