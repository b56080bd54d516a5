"""How many threads run a network: tried on an engine whose time is known, kept, and found anew where it must be."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from serving.common.tensors import Array, TensorSpec
from serving.engines.groups import GroupRequest
from serving.errors import ModelError
from serving.loading import thread_choice
from serving.loading.opening import open_group
from serving.loading.thread_choice import (
    LARGEST,
    LOADING_S,
    SLOW_S,
    SMALL_S,
    SPEED_UP,
    TRIED,
    Taken,
    ThreadChoice,
    all_pay,
    chosen,
    clock,
    fewest,
)
from serving.variants.artefacts import resolve
from serving.variants.profiles import Fingerprint, fingerprint
from serving.variants.variant import parse
from tests.models import mean_model

VARIANT = parse("net")
ALLOWED = 4


class Machine:
    """Runs networks that take so many seconds with one thread and with all; its clock stands still meanwhile."""

    def __init__(
        self,
        one_s: float,
        all_s: float,
        shape: tuple[int | None, ...] = (None, 3, 4, 4),
        loading_s: float = 0.0,
        dearer: float = 1.0,
    ) -> None:
        """``dearer``: the processor time of all threads over that of one."""
        self.now_s, self.processor_s, self.shape, self.loading_s = 0.0, 0.0, shape, loading_s
        self.seconds = {1: one_s, ALLOWED: all_s}
        self.processor = {1: one_s, ALLOWED: one_s * dearer}
        self.opened: list[int] = []
        self.in_memory = 0

    def clock(self, threads: int) -> Taken:
        return Taken(self.now_s, self.processor_s)

    def open(self, threads: int) -> FakeEngine:
        self.opened.append(threads)
        return FakeEngine(self, threads)


class FakeEngine:
    """Takes the machine's time."""

    def __init__(self, machine: Machine, threads: int) -> None:
        self._machine, self._threads = machine, threads
        self.inputs: Sequence[TensorSpec] = ()
        self.runs = 0

    def load(self, segments: Sequence[bytes]) -> None:
        assert not self._machine.in_memory, "one after the other"
        self._machine.in_memory += 1
        self._machine.now_s += self._machine.loading_s
        self.inputs = [TensorSpec(np.dtype(np.float32), self._machine.shape)]

    def run(self, segment: int, batch: Array) -> list[Array]:
        self._machine.now_s += self._machine.seconds[self._threads]
        self._machine.processor_s += self._machine.processor[self._threads]
        self.runs += 1
        return [batch]

    def memory_bytes(self) -> int:
        return 0

    def close(self) -> None:
        self._machine.in_memory -= 1


def test_all_cores_run_what_they_make_much_quicker() -> None:
    assert all_pay(Taken(0.010, 0.010), Taken(0.010 / SPEED_UP, 0.010))
    assert not all_pay(Taken(0.010, 0.010), Taken(0.011 / SPEED_UP, 0.010))
    assert not all_pay(Taken(SMALL_S, SMALL_S), Taken(SMALL_S / 100, SMALL_S)), "however quick"


def test_all_cores_must_not_be_dearer_where_one_is_quick_enough() -> None:
    assert not all_pay(Taken(0.010, 0.010), Taken(0.005, 0.0101))
    assert not all_pay(Taken(SLOW_S, SLOW_S), Taken(SLOW_S / 2, 1.01 * SLOW_S))
    assert not all_pay(Taken(2 * SLOW_S, SLOW_S), Taken(SLOW_S / 2, 1.01 * SLOW_S)), "a busy machine makes none slow"
    assert all_pay(Taken(1.01 * SLOW_S, 1.01 * SLOW_S), Taken(SLOW_S / 2, 2 * SLOW_S)), "a deadline may need it"


def test_what_the_process_does_besides_speaks_for_one_thread() -> None:
    before = {threads: clock(threads).processor_s for threads in (1, 2)}
    other = threading.Thread(target=lambda: sum(range(2_000_000)))
    other.start()
    other.join()
    took = {threads: clock(threads).processor_s - seconds for threads, seconds in before.items()}
    assert took[1] < took[2]


@pytest.mark.parametrize(
    ("one_s", "all_s", "dearer", "threads"),
    [
        (0.02, 0.01, 1.0, ALLOWED),
        (0.02, 0.01, 1.1, 1),
        (0.2, 0.1, 1.1, ALLOWED),
        (0.013, 0.0125, 1.0, 1),
        (0.02, 0.03, 1.0, 1),
        (0.001, 0.0001, 1.0, 1),
    ],
)
def test_both_are_tried(one_s: float, all_s: float, dearer: float, threads: int) -> None:
    machine = Machine(one_s, all_s, dearer=dearer)
    assert fewest([b""], machine.open, ALLOWED, machine.clock) == threads
    assert machine.opened == ([1, ALLOWED] if one_s > SMALL_S else [1])
    assert not machine.in_memory, "given back"


def test_a_slow_network_is_not_tried_often() -> None:
    machine = Machine(100.0, 90.0)
    assert fewest([b""], machine.open, ALLOWED, machine.clock) == 1
    assert machine.now_s == 190.0
    quick = Machine(0.01, 0.002)
    fewest([b""], quick.open, ALLOWED, quick.clock)
    assert quick.now_s == pytest.approx(TRIED * 0.012)


def test_what_cannot_be_tried_has_all_that_are_allowed() -> None:
    machine = Machine(0.02, 0.03, (None, 3, None, None))
    assert fewest([b""], machine.open, ALLOWED, machine.clock) == ALLOWED
    assert not machine.in_memory


def test_a_network_that_takes_long_to_load_is_loaded_once_more_only() -> None:
    machine = Machine(0.02, 0.03, loading_s=LOADING_S + 1)
    assert fewest([b""], machine.open, ALLOWED, machine.clock) == ALLOWED
    assert machine.opened == [1]
    assert not machine.in_memory


def _of_an_earlier_rule() -> bytes:
    found = msgspec.to_builtins(ThreadChoice(1, ALLOWED, fingerprint("onnxruntime"), 2))
    return msgspec.json.encode({key: value for key, value in found.items() if key != "version"})


def test_a_choice_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(0.013, 0.0125)
    monkeypatch.setattr(thread_choice, "clock", machine.clock)
    for _ in range(3):
        assert chosen(tmp_path / "net", VARIANT, lambda: [b""], machine.open, ALLOWED) == 1
    assert machine.opened == [1, ALLOWED], "once"
    (path,) = (tmp_path / "net").iterdir()
    assert path.name == "onnxruntime-fp32.threads.json"


@pytest.mark.parametrize(
    "found",
    [
        b"no JSON",
        b"{" * (LARGEST + 1),
        msgspec.json.encode({"threads": 1}),
        msgspec.json.encode(ThreadChoice(3, ALLOWED, fingerprint("onnxruntime"), 2)),
        msgspec.json.encode(ThreadChoice(1, 2, fingerprint("onnxruntime"), 2)),
        msgspec.json.encode(ThreadChoice(1, ALLOWED, Fingerprint("another", 2, 4, "onnxruntime 1"), 2)),
        _of_an_earlier_rule(),
    ],
    ids=["garbage", "huge", "half", "impossible", "fewer allowed", "another machine", "an earlier rule"],
)
def test_what_does_not_hold_here_is_found_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: bytes) -> None:
    (tmp_path / "onnxruntime-fp32.threads.json").write_bytes(found)
    machine = Machine(0.02, 0.01)
    monkeypatch.setattr(thread_choice, "clock", machine.clock)
    assert chosen(tmp_path, VARIANT, lambda: [b""], machine.open, ALLOWED) == ALLOWED
    assert machine.opened == [1, ALLOWED]


def test_a_place_that_cannot_be_written_costs_a_try_at_every_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    machine = Machine(0.02, 0.02)
    monkeypatch.setattr(thread_choice, "clock", machine.clock)
    with caplog.at_level("INFO"):
        assert chosen(tmp_path / "file" / "net", VARIANT, lambda: [b""], machine.open, ALLOWED) == 1
    assert "tried at every start" in caplog.text


def test_nothing_is_tried_where_there_is_no_choice(tmp_path: Path) -> None:
    machine = Machine(0.02, 0.01)
    assert chosen(None, VARIANT, lambda: [b""], machine.open, ALLOWED) == ALLOWED
    assert chosen(tmp_path, VARIANT, lambda: [b""], machine.open, 1) == 1
    assert not machine.opened


def test_a_model_is_opened_with_the_threads_that_were_found(tmp_path: Path) -> None:
    source = resolve("means", mean_model(tmp_path / "models"), tmp_path / "cache")
    group = open_group([source], 2)
    (means,) = group.run([GroupRequest("means", np.ones((2, 3, 4, 4), np.float32))], 8)[0]
    assert means.tolist() == [[1, 1, 1]] * 2
    (path,) = (tmp_path / "cache").rglob("*.threads.json")
    assert msgspec.json.decode(path.read_bytes(), type=ThreadChoice).threads == 1, "it takes microseconds"
    group.close()


def test_a_model_that_fails_says_so_as_ever(tmp_path: Path) -> None:
    def fails(threads: int) -> FakeEngine:
        raise ModelError("model 'net' cannot be opened: no")

    with pytest.raises(ModelError, match="cannot be opened: no"):
        chosen(tmp_path, VARIANT, lambda: [b""], fails, ALLOWED)
    assert not list(tmp_path.iterdir())
