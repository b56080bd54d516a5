"""A producer of frames that goes on until it is stopped."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import numpy as np
from kafka import KafkaProducer

from operators.frames.codec import encode_frame
from operators.frames.frame import frame_of
from operators.wire.schema import FRAME_HEADER_KEY, FrameId, to_json

FPS = 6


class Camera(threading.Thread):
    """Sends the same few pictures over and over, until it is stopped."""

    def __init__(self, bootstrap: str, topic: str, stream: str = "s") -> None:
        super().__init__()
        self._broker, self._to, self._stream = bootstrap, topic, stream
        self.stopped, self.sent = threading.Event(), 0

    def run(self) -> None:
        rng = np.random.default_rng(5)
        pictures = [rng.integers(0, 256, (6, 8, 3), np.uint8).repeat(30, 0).repeat(40, 1) for _ in range(20)]
        producer = KafkaProducer(bootstrap_servers=self._broker)
        while not self.stopped.wait(1 / FPS):
            picture = pictures[self.sent % len(pictures)]
            frame = frame_of(FrameId(self._stream, "run", self.sent), picture, self.sent / FPS, datetime.now(UTC))
            header, data = encode_frame(frame)
            producer.send(self._to, data, self._stream.encode(), headers=[(FRAME_HEADER_KEY, to_json(header))])
            self.sent += 1
        producer.close()
