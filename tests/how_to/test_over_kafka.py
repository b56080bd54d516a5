"""The how-tos that need a broker, followed with a real one that is theirs alone: pages give topics no prefix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from operators.frames.codec import encode_frame
from operators.wire.schema import FRAME_HEADER_KEY, to_json
from pipelines.partition.dead_letters import dead_letter
from pipelines.partition.message import Message
from tests.doc_pages import ROOT
from tests.how_to.reader import BROKER, Reader
from tests.integration.kafka_side import read_all, send
from tests.models import yolox_nano
from tests.operators.publish.messages import picture, result
from tests.pipelines.observe.forward.notes import event
from tests.real.kafka import KafkaBroker
from tests.real.mosquitto import Mosquitto, subscriber
from tests.real.ports import free_port
from tests.real.process import until
from tests.real.webhook import hooked

pytestmark = pytest.mark.kafka


def here(broker: KafkaBroker) -> dict[str, str]:
    return {BROKER: f"kafka://{broker.bootstrap}"}


@pytest.mark.data
def test_an_archive_is_analysed(tmp_path: Path, data_dir: Path, own_kafka_broker: KafkaBroker) -> None:
    yolox_nano(tmp_path / "models", data_dir)
    with Reader("analyse-an-archive", tmp_path, SLUICE_MODELS=str(tmp_path / "models")) as reader:
        assert "1 of 1 recordings," in reader.follow()
        assert "1 of 1 recordings, 0 new results in" in reader.follow()
        reader.follow()
        frames = len((reader.folder / "results.jsonl").read_text().splitlines())
        assert reader.python(reader.block("python")) == f"{frames} frames\n"
        copy, worker, submit, status = reader.commands(here(own_kafka_broker))
        reader.run(copy)
        at = f"kafka://{own_kafka_broker.bootstrap}"
        reader.run(f"sluice topics create --broker {at}")
        running = reader.start(worker)
        assert "of 1 recordings wait for workers" in reader.run(submit)
        until(lambda: "done" in reader.run(status), "the job", running)
        assert running.terminate() == 0
        assert len((reader.folder / "results" / "night" / "street.jsonl").read_text().splitlines()) == frames
        assert "night: cancelled" in reader.follow(here(own_kafka_broker))


@pytest.mark.data
def test_evidence_is_kept(tmp_path: Path, data_dir: Path, own_kafka_broker: KafkaBroker) -> None:
    yolox_nano(tmp_path / "models", data_dir)
    at = f"kafka://{own_kafka_broker.bootstrap}"
    with Reader("keep-evidence", tmp_path, SLUICE_MODELS=str(tmp_path / "models"), SLUICE_BROKER=at) as reader:
        reader.yard(data_dir / "videos" / "person-bicycle-car-detection.mp4")
        run, work = reader.commands(here(own_kafka_broker))
        reader.run(run)
        folder = reader.folder / "evidence"
        assert (folder / "manifest.json").is_file()
        kept = len(list(folder.glob("0*")))
        assert kept > 0
        reader.run("sluice topics create yard.yaml")
        worker = reader.start(work)
        reader.run("sluice capture yard.yaml")
        until(lambda: len(list(folder.glob("0*/results.jsonl"))) > kept, "an episode of the worker", worker)
        assert worker.terminate() == 0
        assert "0.0% of the objects have changed" in reader.run("sluice replay evidence yard.yaml --tolerance 0")
        first = folder / "000001"
        assert (first / "results.jsonl").is_file()
        assert (first / "causes.jsonl").is_file()
        assert sorted(path.name for path in first.glob("*"))[0].startswith("00000.")


def test_dead_letters_are_mended(tmp_path: Path, own_kafka_broker: KafkaBroker) -> None:
    at = own_kafka_broker.bootstrap
    with Reader("mend-dead-letters", tmp_path, SLUICE_BROKER=f"kafka://{at}") as reader:
        reader.run("sluice topics create")
        letters = [letter(seq, "undecodable_image" if seq < 18 else "failed") for seq in range(20)]
        send(at, "sluice.dlq.v1", letters)
        listed, shown = reader.commands()
        assert "0:17" in reader.run(listed)
        assert "undecodable_image" in reader.run(shown)
        (reader.folder / "frame.jpg").write_bytes(jpeg(17)[1])
        mended, failed = reader.commands()
        reader.run(mended)
        reader.run(failed)
        assert len(list(read_all(at, "sluice.frames.v1"))) == 3


def jpeg(seq: int) -> tuple[Any, bytes]:
    return encode_frame(picture(result(seq, stream="gate"), 64, 48))


def letter(seq: int, reason: str) -> tuple[bytes, bytes]:
    header, whole = jpeg(seq)
    value = whole if reason == "failed" else whole[:-60]
    message = Message("sluice.frames.v1", 0, seq, 0.0, b"gate", value, ((FRAME_HEADER_KEY, to_json(header)),))
    return b"gate", to_json(dead_letter(message, reason, "a reason"))


def test_events_are_forwarded(tmp_path: Path, own_kafka_broker: KafkaBroker) -> None:
    secrets = {"ALARMS_SECRET": "a secret of the webhook"}
    home = Mosquitto(tmp_path / "mosquitto", "pa55", tls=True)
    with (
        home,
        subscriber(home.watch_port) as heard,
        hooked() as alarms,
        Reader("forward-events", tmp_path, **secrets) as reader,
    ):
        (reader.folder / "mqtt-password").write_text("pa55\n")
        (reader.folder / "mqtt-password").chmod(0o600)
        checked, forward = reader.commands(here(own_kafka_broker) | {":8472": f":{free_port()}"})
        sinks = reader.write("sinks.yaml", "yaml")
        assert "alarms" in reader.run(checked)
        theirs = f"mqtts://127.0.0.1:{home.port}\n    cafile: {home.cafile}"
        text = (
            sinks.read_text()
            .replace("mqtts://mqtt.local", theirs)
            .replace("https://alarms.example/hooks/sluice", alarms.url)
        )
        sinks.write_text(text)
        reader.run(f"sluice topics create --broker kafka://{own_kafka_broker.bootstrap}")
        process = reader.start(forward)
        until(lambda: "forwarding" in process.errors, "the sinks", process)
        told = event(stream="gate", label="car")
        send(own_kafka_broker.bootstrap, "sluice.events.v1", [(b"gate", to_json(told))])
        until(lambda: alarms.of("gate") and heard.on("sluice/streams/gate/events"), "the notifications", process)
        assert process.terminate() == 0

        yard = (ROOT / "examples" / "vehicles.yaml").read_text().replace("id: carpark", "id: yard-1")
        (reader.folder / "yard.yaml").write_text(yard.replace("uri: ", f"uri: {ROOT}/examples/"))
        reader.run("sluice run yard.yaml --forward sinks.yaml --limit 200")
        assert alarms.of("yard-1")

        headers, _, body = alarms.told[0]
        arguments = (headers["Sluice-Signature"], body, secrets["ALARMS_SECRET"])
        checks = f"assert is_ours(*{arguments!r})\nassert not is_ours({arguments[0]!r}, b'', {arguments[2]!r})"
        reader.python(reader.block("python"), after=checks)
        own = [reader.block("python"), reader.block("toml")]  # tests/pipelines/observe/forward/test_own_sinks.py
        assert all("Lines" in block for block in own)


def test_heads_are_trained_elsewhere(tmp_path: Path, own_kafka_broker: KafkaBroker) -> None:
    at = own_kafka_broker.bootstrap
    with Reader("adapt", tmp_path, SLUICE_BROKER=f"kafka://{at}") as reader:
        street = (ROOT / "docs" / "exits.md").read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
        (reader.folder / "query.yaml").write_text(street.replace("-type}", "-type, specialize: true}"))
        create, adapt, work = reader.commands(here(own_kafka_broker))
        reader.run(create)
        adapting = reader.start(adapt)
        until(lambda: "adapting street at" in adapting.errors, "the adaptation worker", adapting)
        worker = reader.start(work)
        until(lambda: "analysing sluice.frames.v1 at" in worker.errors, "the worker", worker)
        reader.run("sluice capture query.yaml --limit 40")
        until(lambda: len(list(read_all(at, "sluice.results.v1"))) == 40, "the results", worker, adapting)
        assert worker.terminate() == 0
        assert adapting.terminate() == 0
