"""Where a consumer group begins that has never begun: behind what is there, once and for all partitions."""

from __future__ import annotations

import logging

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient, OffsetSpec
from kafka.errors import NoError, UnknownMemberIdError
from kafka.structs import OffsetAndMetadata

log = logging.getLogger(__name__)


def begin_at_the_ends(client: KafkaAdminClient, group: str, topic: str) -> None:
    """Commit the ends of the topic's partitions, unless the group has committed anything there, or has members.

    Afterwards every partition has a place to go on from, also those that are silent: whoever starts again, or takes
    over, misses nothing. Raises ``KafkaError``.
    """
    known = client.list_group_offsets({group: None})[group]
    if any(place.topic == topic and committed.offset >= 0 for place, committed in known.items()):
        return
    (described,) = client.describe_topics([topic])
    places = [TopicPartition(topic, each["partition_index"]) for each in described["partitions"]]
    ends = client.list_partition_offsets(dict.fromkeys(places, OffsetSpec.LATEST))
    wanted = {place: OffsetAndMetadata(end.offset, "", -1) for place, end in ends.items()}
    refusals = set(client.alter_group_offsets(group, wanted).values()) - {NoError}
    if UnknownMemberIdError in refusals:
        return  # others have begun meanwhile
    for refusal in refusals:
        raise refusal(f"the group {group} cannot begin at the end of {topic}")
    log.info("the first start of the group %s: beginning with the next frames of %s", group, topic)
