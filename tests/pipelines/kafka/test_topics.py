from __future__ import annotations

import pytest
from pydantic import ValidationError

from cache_adapt.adaptation.versions import LARGEST_BYTES
from operators.frames.codec import MAX_HEADER_BYTES
from operators.wire.adaptation import MOST_DIMS, MOST_SAMPLES
from pipelines.kafka.topics import (
    Found,
    SettingDifference,
    TopicsConfig,
    TopicSettings,
    differences,
    too_small_messages,
)
from serving.errors import BadInput


def as_found(settings: TopicSettings, **changes: str) -> Found:
    return Found(settings.partitions, 1, settings.broker_configs() | changes)


def test_names_begin_with_the_prefix() -> None:
    assert list(TopicsConfig().by_name()) == [
        "sluice.frames.v1", "sluice.results.v1", "sluice.streams.v1",
        "sluice.plans.v1", "sluice.state.v1", "sluice.samples.v1", "sluice.updates.v1",
        "sluice.load.v1", "sluice.placement.v1", "sluice.jobs.v1",
        "sluice.events.v1", "sluice.dlq.v1",
    ]  # fmt: skip
    assert TopicsConfig(prefix="site-a.").name("dlq") == "site-a.dlq.v1"
    assert TopicsConfig().with_prefix("x.").name("frames") == "x.frames.v1"
    assert TopicsConfig(prefix="y.").with_prefix(None).name("frames") == "y.frames.v1"


@pytest.mark.parametrize("prefix", ["a b", "ä", "x" * 101, "a/b"])
def test_prefixes_that_kafka_does_not_know(prefix: str) -> None:
    with pytest.raises(BadInput, match="--prefix"):
        TopicsConfig().with_prefix(prefix)
    with pytest.raises(ValidationError):
        TopicsConfig(prefix=prefix)


def test_what_is_not_given_keeps_its_default() -> None:
    config = TopicsConfig.model_validate({"frames": {"partitions": 8}})
    assert config.frames.partitions == 8
    assert config.frames.max_message_bytes == 8 << 20
    assert config.streams.compacted


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError):
        TopicsConfig.model_validate({"frames": {"partition": 8}})


def test_images_are_kept_within_bounds_of_time_and_bytes() -> None:
    configs = TopicsConfig().frames.broker_configs()
    assert configs["cleanup.policy"] == "delete"
    assert int(configs["retention.ms"]) == 3_600_000
    assert int(configs["segment.bytes"]) * 8 <= int(configs["retention.bytes"])
    assert int(configs["segment.bytes"]) >= int(configs["max.message.bytes"])


def test_messages_have_the_broker_s_time_but_for_those_that_have_their_frame_s() -> None:
    stamped = {
        name: topic.broker_configs()["message.timestamp.type"] for name, topic in TopicsConfig().by_name().items()
    }
    of_frames = {f"sluice.{kind}.v1" for kind in ("results", "events", "dlq")}
    assert {name for name, by in stamped.items() if by == "CreateTime"} == of_frames


def test_states_are_compacted_and_have_no_retention() -> None:
    configs = TopicsConfig().streams.broker_configs()
    assert configs["cleanup.policy"] == "compact"
    assert "retention.ms" not in configs


def test_what_was_learnt_is_compacted_in_small_segments_and_forgotten_with_its_stream() -> None:
    configs = TopicsConfig().state.broker_configs()
    assert (configs["cleanup.policy"], configs["retention.ms"]) == ("compact,delete", "604800000")
    assert int(configs["segment.bytes"]) == 8 << 20
    forever = TopicsConfig.model_validate({"state": {"retention_s": None}}).state.broker_configs()
    assert forever["cleanup.policy"] == "compact"
    assert "retention.ms" not in forever


def test_null_retention_is_for_ever() -> None:
    configs = TopicSettings(retention_s=None).broker_configs()
    assert configs["retention.ms"] == configs["retention.bytes"] == "-1"


def test_a_topic_as_wanted_differs_in_nothing() -> None:
    for settings in TopicsConfig().by_name().values():
        assert differences(settings, as_found(settings)) == []


def test_differences_are_told_by_kafkas_names() -> None:
    settings = TopicSettings(partitions=2)
    found = Found(3, 1, settings.broker_configs() | {"max.message.bytes": "1000", "unrelated": "1"})
    assert differences(settings, found) == [
        SettingDifference("partitions", "3", "2"),
        SettingDifference("max.message.bytes", "1000", str(1 << 20)),
    ]
    assert str(differences(settings, found)[0]) == "partitions is 3, wanted 2"


def test_only_a_limit_below_the_wanted_one_is_complained_of() -> None:
    settings = TopicSettings()
    low, high = (as_found(settings, **{"max.message.bytes": limit}) for limit in ("1000", "9000000"))
    complaint = too_small_messages("frames", differences(settings, low))
    assert complaint is not None
    assert "1000 bytes" in complaint
    assert "--update" in complaint
    assert too_small_messages("frames", differences(settings, high)) is None


def test_samples_are_bounded_by_time_and_bytes_and_updates_compacted() -> None:
    samples, updates = TopicsConfig().samples.broker_configs(), TopicsConfig().updates.broker_configs()
    assert (samples["cleanup.policy"], samples["retention.ms"]) == ("delete", "7200000")
    assert int(samples["retention.bytes"]) == 256 << 20
    assert (updates["cleanup.policy"], updates["retention.ms"]) == ("compact,delete", "604800000")


def test_the_largest_message_of_samples_and_the_largest_artefact_fit_into_their_topics() -> None:
    config = TopicsConfig()
    assert config.samples.max_message_bytes > MOST_SAMPLES * MOST_DIMS * 4 + MAX_HEADER_BYTES
    assert config.updates.max_message_bytes > LARGEST_BYTES + MAX_HEADER_BYTES
