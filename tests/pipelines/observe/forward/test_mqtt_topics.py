"""What Home Assistant is told: names from outside stand in no template, no id and no topic."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from operators.wire.bounds import is_id
from pipelines.observe.forward.mqtt_topics import Announced, Topics, announcements, zone_announcement
from tests.pipelines.observe.forward.notes import HOSTILE

ALL = Announced("homeassistant", ("new", "end", "state"), pictures=True)


def test_state_events_and_pictures_of_one_device() -> None:
    said = {
        topic.split("/")[1]: json.loads(data) for topic, data in announcements(ALL, Topics("sluice"), "yard").items()
    }
    assert said.keys() == {"sensor", "event", "image"}
    assert said["event"]["event_types"] == ["new", "end"]
    assert said["image"]["image_topic"] == "sluice/streams/yard/snapshot"
    assert len({json.dumps(part["device"]) for part in said.values()}) == 1
    assert len({part["unique_id"] for part in said.values()}) == 3


def test_only_what_the_sink_is_sent() -> None:
    states = Announced("homeassistant", ("state",), pictures=True)
    assert [topic.split("/")[1] for topic in announcements(states, Topics("sluice"), "yard")] == ["sensor"]


def test_streams_and_installations_are_told_apart() -> None:
    keys = {next(iter(announcements(ALL, Topics(prefix), stream))) for prefix in "ab" for stream in ("x", "y", HOSTILE)}
    assert len(keys) == 6


@given(st.text(min_size=1, max_size=40).filter(is_id))
def test_topics_are_one_level_and_free_of_wildcards(stream: str) -> None:
    topics = Topics("sluice")
    assert re.fullmatch(r"sluice/streams/[A-Za-z0-9_.~%-]+/events", topics.events(stream))
    for topic, data in announcements(ALL, topics, stream).items():
        assert re.fullmatch(r"homeassistant/\w+/sluice_[0-9a-f]{16}/config", topic)
        said = json.loads(data)
        assert {said.get("value_template")} <= {
            json.loads(each).get("value_template") for each in announcements(ALL, topics, "yard").values()
        }


@given(st.text(min_size=1, max_size=40).filter(is_id), st.text(min_size=1, max_size=80))
def test_a_zone_is_a_sensor_of_its_stream_whose_name_is_shown_and_nothing_else(stream: str, zone: str) -> None:
    topics = Topics("sluice")
    topic, data = zone_announcement(ALL, topics, stream, zone)
    said = json.loads(data)
    assert re.fullmatch(r"homeassistant/sensor/sluice_[0-9a-f]{16}/zone_[0-9a-f]{16}/config", topic)
    assert re.fullmatch(r"sluice/streams/[A-Za-z0-9_.~%-]+/zones/[A-Za-z0-9_.~%-]+", said["state_topic"])
    assert said["name"] == zone[:64]
    assert "value_template" not in said
    device = json.loads(next(iter(announcements(ALL, topics, stream).values())))["device"]
    assert said["device"] == device
    assert topic != zone_announcement(ALL, topics, stream, f"{zone}2")[0]


@given(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_no_two_streams_share_a_topic(one: str, other: str) -> None:
    assert (one == other) == (Topics("s").events(one) == Topics("s").events(other))
