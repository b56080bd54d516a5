"""``sluice run`` and ``sluice capture`` with ``sluice worker`` say the same: of whole pictures, masks, and zones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kafka_side import read_all
from tests.models import mean_model
from tests.pipelines.run.test_masks import write_clip
from tests.pipelines.run.test_whole_frames import PICTURES, write_pictures
from tests.real.kafka import KafkaBroker
from tests.real.mosquitto import Mosquitto, subscriber
from tests.real.process import Sluice, until

pytestmark = pytest.mark.kafka

ALBUM = """\
version: 1
name: album
slo_ms: 60000
streams: [{id: album, uri: album}]
nodes:
  - {name: colour, task: recognise, input: frame, model: means}
"""
YARD = """\
version: 1
name: yard
slo_ms: 60000
streams: [{id: yard, uri: clip.mp4}]
nodes:
  - {name: detect, task: detect, model: motion, motion: {warmup_s: 0}}
  - {name: track, task: track, input: detect}
masks:
  - {streams: "ya*", ignore: [[0, 0], [0.5, 0], [0.5, 1], [0, 1]]}
"""
ZONES = """\
version: 1
name: zones
slo_ms: 60000
streams: [{id: yard, uri: clip.mp4}]
nodes:
  - {name: detect, task: detect, model: motion, motion: {warmup_s: 0}}
  - {name: track, task: track, input: detect}
zones: [{name: low, polygon: [[0, 0.6], [1, 0.6], [1, 1], [0, 1]]}]
lines: [{name: waist, points: [[0, 0.6], [1, 0.6]]}]
publish: {events: {settle_s: 0.2, count_every_s: 1}}
"""
SINKS = """\
version: 1
sinks: [{{name: home, to: mqtt, url: "mqtt://127.0.0.1:{port}", kinds: [cross]}}]
"""

TRACKS = """\
version: 1
name: tracks
slo_ms: 60000
streams: [{id: street, uri: "synthetic:street?duration_s=4&width=320&height=180&seed=3&fps=10"}]
nodes:
  - {name: detect, task: detect, model: motion}
  - {name: track, task: track, input: detect}
  - {name: kind, task: recognise, input: track, model: street-kind}
"""


def by_run(query: Path, models: Path) -> list[dict[str, Any]]:
    out = query.with_suffix(".jsonl")
    run = Sluice(query.parent / "run", "run", query, "--models", models, "--out", out)
    assert run.wait() == 0, run.errors
    return [json.loads(line) for line in out.read_text().splitlines()]


def by_worker(
    query: Path, models: Path, broker: KafkaBroker, prefix: str, count: int, *options: object
) -> list[dict[str, Any]]:
    home, at = query.parent / "kafka", broker.bootstrap
    with Sluice(home, "worker", query, "--models", models, "--prefix", prefix, *options, broker=at) as worker:
        capture = Sluice(home, "capture", query, "--prefix", prefix, broker=at)
        assert capture.wait() == 0, capture.errors

        def results() -> list[dict[str, Any]]:
            return [json.loads(record.value) for record in read_all(at, f"{prefix}results.v1")]

        until(lambda: len(results()) >= count, f"{count} results", worker)
        found = results()
        assert worker.terminate() == 0, worker.errors
    return found


def test_forty_pictures_have_one_answer_each(kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path) -> None:
    shown = write_pictures(tmp_path / "album")
    mean_model(tmp_path / "models")
    query = tmp_path / "album.yaml"
    query.write_text(ALBUM)
    alone = by_run(query, tmp_path / "models")
    apart = by_worker(query, tmp_path / "models", kafka_broker, topic_prefix, PICTURES)
    for results in (alone, apart):
        assert [[each["label"] for each in result["objects"]] for result in results] == [[word] for word in shown]


def test_what_a_mask_takes_away_is_gone_for_both(kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path) -> None:
    write_clip(tmp_path / "clip.mp4")
    query = tmp_path / "yard.yaml"
    query.write_text(YARD)
    alone = by_run(query, tmp_path)
    apart = by_worker(query, tmp_path, kafka_broker, topic_prefix, len(alone))
    for results in (alone, apart):
        boxes = [each["detection"]["bounding_box"] for result in results for each in result["objects"]]
        assert len(boxes) > 15
        assert all(box["x_min"] > 0.4 for box in boxes)


def test_both_answer_for_tracks_and_look_at_them_seldom(
    kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    query = tmp_path / "tracks.yaml"
    query.write_text(TRACKS)
    alone = by_run(query, tmp_path)
    apart = by_worker(query, tmp_path, kafka_broker, topic_prefix, len(alone))
    for results in (alone, apart):
        tracked = [each for result in results for each in result["objects"] if each["track_id"] is not None]
        answers = [answer for each in tracked for answer in each["attributes"]]
        assert len(answers) == len(tracked) > 50
        assert {answer["provenance"] for answer in answers} == {"track"}
        assert {answer.get("looked") for answer in answers} == {"oracle", None}
        assert sum("looked" in answer for answer in answers) < len(answers) / 3
        assert all(1 <= answer["looks"] <= 10 for answer in answers)


def test_both_tell_who_crosses_and_who_is_inside_and_keep_it(
    kafka_broker: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    write_clip(tmp_path / "clip.mp4")
    query, events = tmp_path / "zones.yaml", tmp_path / "events.jsonl"
    query.write_text(ZONES)
    with Mosquitto(tmp_path / "mqtt") as mosquitto, subscriber(mosquitto.watch_port) as heard:
        (tmp_path / "sinks.yaml").write_text(SINKS.format(port=mosquitto.port))
        options = ("--events", events, "--forward", tmp_path / "sinks.yaml")
        run = Sluice(tmp_path / "run", "run", query, "--out", tmp_path / "results.jsonl", *options)
        assert run.wait() == 0, run.errors
        until(lambda: len(heard.on("sluice/streams/yard/events")) == 2, "both crossings")
    assert "yard waist: crossed 1 left to right (moving 1), 1 right to left (moving 1)" in run.output
    notes = [json.loads(payload)["event"] for payload in heard.on("sluice/streams/yard/events")]
    assert sorted(note["direction"] for note in notes) == ["left_to_right", "right_to_left"]
    frames = len((tmp_path / "results.jsonl").read_text().splitlines())
    apart = by_worker(query, tmp_path, kafka_broker, topic_prefix, frames, "--record", tmp_path / "evidence")
    kept = [
        json.loads(line)
        for file in sorted((tmp_path / "evidence").glob("*/causes.jsonl"))
        for line in file.read_text().splitlines()
    ]
    assert {each["direction"] for each in kept if each["type"] == "cross"} == {"left_to_right", "right_to_left"}
    replay = Sluice(tmp_path / "replay", "replay", tmp_path / "evidence", query, "--tolerance", 1)
    assert replay.wait() == 0, replay.errors
    topic = [json.loads(record.value) for record in read_all(kafka_broker.bootstrap, f"{topic_prefix}events.v1")]
    for told in ([json.loads(line) for line in events.read_text().splitlines()], topic):
        crossed = {(each["direction"], each["bounding_box"]["x_min"] < 0.5) for each in told if each["type"] == "cross"}
        assert crossed == {("left_to_right", True), ("right_to_left", False)}
        (count,) = (each for each in told if each["type"] == "count" and each["since_media_time_s"] == 0)
        assert (count["schema"], list(count["zones"]), list(count["lines"])) == ("sluice.count/1", ["low"], ["waist"])
        assert {each["zone"] for each in told if each["type"] in ("enter", "leave")} == {"low"}
    assert any(found["zones"] == ["low"] for result in apart for found in result["objects"])
