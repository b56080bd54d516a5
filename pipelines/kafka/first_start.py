"""Where a consumer group begins that has never begun: behind what is there, once and for all partitions."""

from __future__ import annotations

import logging

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError
from aiokafka.structs import OffsetAndMetadata

from pipelines.kafka.options import client_options
from pipelines.settings import BrokerSettings

log = logging.getLogger(__name__)


async def begin_at_the_ends(settings: BrokerSettings, group: str, topic: str) -> None:
    """Commit the ends of the topic's partitions, unless the group has committed anything there, or has members.

    Afterwards every partition has a place to go on from, also those that are silent: a worker that starts again, or
    takes over, misses nothing. Raises ``KafkaError``.
    """
    consumer = AIOKafkaConsumer(**client_options(settings), group_id=group, enable_auto_commit=False)
    try:
        await consumer.start()
        await consumer._client.set_topics([topic])  # who is assigned nothing yet is told of no topic
        places = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        consumer.assign(places)
        if any([await consumer.committed(place) is not None for place in places]):
            return
        ends = await consumer.end_offsets(places)
        await consumer.commit({place: OffsetAndMetadata(end, "") for place, end in ends.items()})
    except CommitFailedError:
        return  # others have begun meanwhile
    finally:
        await consumer.stop()
    log.info("the first start of the group %s: beginning with the next frames of %s", group, topic)
