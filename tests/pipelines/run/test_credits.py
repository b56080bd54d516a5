"""Credits: what may be in flight, per stream and in bytes."""

import threading

import pytest

from pipelines.run.feed import Credits


def taken(credits, stream, size):
    """Whether the credit is given at once; one that is not is left waiting in a thread."""
    done = threading.Event()

    def take():
        credits.take(stream, size)
        done.set()

    threading.Thread(target=take, daemon=True).start()
    return done.wait(0.2), done


def test_a_stream_gets_its_number_of_frames():
    credits = Credits(lambda stream, size: 2, 1000)
    assert credits.take("a", 1)
    assert credits.take("a", 1)
    given, later = taken(credits, "a", 1)
    assert not given
    assert credits.take("b", 1)
    credits.give("a", 1)
    assert later.wait(120)


def test_bytes_are_bounded_over_all_streams():
    credits = Credits(lambda stream, size: 10, 100)
    assert credits.take("a", 60)
    given, later = taken(credits, "a", 60)
    assert not given
    credits.give("a", 60)
    assert later.wait(120)


@pytest.mark.parametrize("size", [101, 10_000])
def test_a_stream_without_frames_in_flight_may_always_send_one(size):
    credits = Credits(lambda stream, size: 10, 100)
    assert credits.take("a", 100)
    assert credits.take("b", size)


def test_close_ends_the_waiting():
    credits = Credits(lambda stream, size: 1, 100)
    credits.take("a", 1)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(credits.take("a", 1)), daemon=True)
    thread.start()
    credits.close()
    thread.join(120)
    assert answers == [False]


def test_a_credit_wakes_only_who_may_go():
    credits = Credits(lambda stream, size: 1, 1000)
    waiting = {}
    for stream in "abc":
        credits.take(stream, 1)
        given, waiting[stream] = taken(credits, stream, 1)
        assert not given
    credits.give("b", 1)
    assert waiting["b"].wait(120)
    assert not waiting["a"].wait(0.1)
    assert not waiting["c"].is_set()
    credits.close()
    assert waiting["a"].wait(120)
    assert waiting["c"].wait(120)


def test_bytes_of_one_stream_let_another_go():
    credits = Credits(lambda stream, size: 10, 100)
    credits.take("a", 90)
    credits.take("b", 10)
    given, later = taken(credits, "b", 50)
    assert not given
    credits.give("a", 90)
    assert later.wait(120)
