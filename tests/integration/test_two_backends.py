"""Two workers ask two backends, of which one is killed and the other stands still: frames have one outcome each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.two_backends import broken
from tests.real.kafka import KafkaBroker

pytestmark = pytest.mark.kafka
FRAMES = 800


def test_each_frame_has_one_outcome_and_the_answer_of_the_network_itself(
    kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    found = broken(tmp_path, kafka_broker.bootstrap, topic_prefix, FRAMES)
    assert len(found.local) == FRAMES
    assert found.remote == found.local
    assert {outcome for outcome, _ in found.remote.values()} == {"analysed None"}
    assert all(len(answers) == 1 for _, answers in found.remote.values())
    assert (found.twice, found.there) == (0, FRAMES)
