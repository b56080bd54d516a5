"""Bytes by key, so many and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipelines.worker.state_topic import BoundedStore


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.binary(max_size=60), st.booleans())))
def test_never_more_than_the_bounds_and_always_the_latest(steps: list[tuple[str, bytes, bool]]) -> None:
    store, kept = BoundedStore(40, 100, overhead_bytes=0), dict[str, bytes]()
    for key, value, put in steps:
        if put:
            store.put(key, value)
            kept.pop(key, None)
            if len(value) < 40:
                kept[key] = value
            while sum(map(len, kept.values())) + len(kept) > 100:
                del kept[next(iter(kept))]
        else:
            assert store.pop(key) == kept.pop(key, None)
        assert store.size_bytes == sum(map(len, kept.values())) + len(kept)
        assert len(store) == len(kept)


def test_what_was_left_out_is_counted() -> None:
    store = BoundedStore(max_item_bytes=500, max_bytes=1000)
    store.put("large", bytes(400))
    assert (len(store), store.left_out) == (0, 1)
    for number in range(6):
        store.put(str(number), b"x")
    assert (len(store), store.left_out) == (4, 3)
    assert store.pop("0") is None
    assert store.pop("5") == b"x"
