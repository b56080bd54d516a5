"""Creates, compares and updates topics on a real broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import (
    ClusterAuthorizationFailedError,
    InvalidReplicationFactorError,
    KafkaError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
)

from pipelines.kafka.rights import HIDDEN_TOPIC
from pipelines.kafka.topics import Found, SettingDifference, TopicSettings, differences
from serving.errors import BadInput, SluiceError


@dataclass(frozen=True)
class Ensured:
    """The change that was made to one topic."""

    name: str
    created: bool = False
    updated: tuple[SettingDifference, ...] = ()
    """Settings of an existing topic that were changed to what is wanted."""
    differences: tuple[SettingDifference, ...] = ()
    """Settings that still differ from what is wanted."""


def find(client: KafkaAdminClient, names: Iterable[str]) -> dict[str, Found]:
    """Those of the named topics that exist; raises ``SluiceError`` where the broker refuses to tell."""
    names = list(names)
    if unseen := ", ".join(sorted(hidden(client, names))):
        raise BadInput(f"the broker does not let this user see {unseen}: grant the right to describe them")
    return _visible(client, names)


def hidden(client: KafkaAdminClient, names: Iterable[str]) -> set[str]:
    """Those of the named topics that this user may not see, whether they exist or not."""
    return {topic["name"] for topic in client.describe_topics(list(names)) if topic["error_code"] == HIDDEN_TOPIC}


def ensure(
    client: KafkaAdminClient, wanted: Mapping[str, TopicSettings], replication: int | None = None, update: bool = False
) -> list[Ensured]:
    """Create what is missing and compare the rest; with ``update`` change what differs, save the partitions.

    More partitions would send a stream's next frames to another worker than its last ones.
    """
    found = _visible(client, wanted)  # who may create a topic need not have the right to see whether it exists
    done = []
    for name, settings in wanted.items():
        if name not in found and _create(client, name, settings, replication):
            done.append(Ensured(name, created=True))
        else:
            existing = found[name] if name in found else find(client, [name])[name]
            done.append(_compare(client, name, settings, existing, update))
    return done


def _visible(client: KafkaAdminClient, names: Iterable[str]) -> dict[str, Found]:
    try:
        described = [topic for topic in client.describe_topics(list(names)) if topic["error_code"] == 0]
        resources = [ConfigResource(ConfigResourceType.TOPIC, topic["name"]) for topic in described]
        configs = client.describe_configs(resources, config_filter="all")["topic"] if resources else {}
    except KafkaError as error:
        raise _refused("describe topics", error) from None
    return {topic["name"]: _found(topic["partitions"], configs[topic["name"]]) for topic in described}


def _create(client: KafkaAdminClient, name: str, settings: TopicSettings, replication: int | None) -> bool:
    """False where another command was faster."""
    options = {
        "num_partitions": settings.partitions,
        "replication_factor": -1 if replication is None else replication,
        "configs": settings.broker_configs(),
    }
    try:
        client.create_topics({name: options}, wait_for_metadata=True)
    except TopicAlreadyExistsError:
        return False
    except InvalidReplicationFactorError:
        raise SluiceError(f"topic {name}: the cluster has too few brokers for {replication} copies") from None
    except KafkaError as error:
        raise _refused(f"create topic {name}", error) from None
    return True


def _compare(client: KafkaAdminClient, name: str, settings: TopicSettings, found: Found, update: bool) -> Ensured:
    unlike = differences(settings, found)
    changes = {item.key: item.wanted for item in unlike if item.key != "partitions"}
    if not update or not changes:
        return Ensured(name, differences=tuple(unlike))
    try:
        answer = client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, changes)])["topic"][name]
    except KafkaError as error:
        raise _refused(f"update topic {name}", error) from None
    if answer != "OK":
        raise SluiceError(f"the broker refuses to update topic {name}: {answer}")
    return Ensured(
        name,
        updated=tuple(item for item in unlike if item.key in changes),
        differences=tuple(item for item in unlike if item.key not in changes),
    )


def _found(partitions: list[dict[str, list[int]]], configs: Mapping[str, Mapping[str, str]]) -> Found:
    return Found(
        partitions=len(partitions),
        replication=max((len(partition["replica_nodes"]) for partition in partitions), default=0),
        configs={key: entry["value"] for key, entry in configs.items()},
    )


def _refused(what: str, error: KafkaError) -> SluiceError:
    if isinstance(error, ClusterAuthorizationFailedError | TopicAuthorizationFailedError):
        return BadInput(f"the broker does not let this user {what}: grant the right, or let another user do it")
    return SluiceError(f"the broker refuses to {what}: {type(error).__name__}")
