"""Frames that a real broker has taken leave the memory of the process that sent them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from operators.publish.kafka_frames import KafkaFrames
from operators.publish.sending import CaptureTopics
from operators.testing import make_frame
from pipelines.kafka.sync_clients import frames_producer
from tests.integration.kafka_side import create_topic, read_frames
from tests.integration.worker_parts import plain
from tests.real.kafka import KafkaBroker

pytestmark = pytest.mark.kafka

FRAMES = 200
KEPT_BYTES = 4_000_000
"""Room for the client's own buffers, a fifth of what is sent."""


def test_a_sender_of_droppable_frames_keeps_none_that_has_arrived(kafka_broker: KafkaBroker, topic_prefix: str) -> None:
    frames_topic = f"{topic_prefix}frames.v1"
    for kind in ("frames", "streams"):
        create_topic(kafka_broker.bootstrap, f"{topic_prefix}{kind}.v1")
    noise = np.random.default_rng(0).integers(0, 256, (270, 480, 3), np.uint8)
    sink = KafkaFrames(
        frames_producer(plain(kafka_broker), 20), CaptureTopics(frames_topic, f"{topic_prefix}streams.v1")
    )
    try:
        sink.emit(make_frame(image=noise), droppable=True)
        assert sink.drained(20)
        tracemalloc.start()
        for seq in range(1, FRAMES):
            sink.emit(make_frame(seq=seq, image=noise), droppable=True)
            assert sink.drained(20)
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        assert sink.close() == 0
    sent = read_frames(kafka_broker.bootstrap, frames_topic)["cam"]
    assert sent.seqs == list(range(FRAMES))
    assert sum(map(len, sent.images)) > 4 * KEPT_BYTES
    assert kept_bytes < KEPT_BYTES
