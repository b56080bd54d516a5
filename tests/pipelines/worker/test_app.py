"""How the Faust app is configured, and that no secret shows."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from faust.types.auth import AuthProtocol

from operators.transports import kafka
from pipelines.kafka.options import client_options
from pipelines.settings import BrokerSettings
from pipelines.worker.agent import make_app, quiet
from serving.errors import BadInput

SECRET = "it-is-a-secret"


def test_small_buffers_large_messages_and_nothing_hidden(tmp_path: Path) -> None:
    app = make_app("worker", BrokerSettings(("one:9092", "two:9093")), datadir=tmp_path)
    conf = app.conf
    assert [str(url) for url in conf.broker] == ["kafka://one:9092", "kafka://two:9093"]
    assert (conf.stream_buffer_maxsize, conf.broker_max_poll_records) == (32, 64)
    assert conf.consumer_max_fetch_size == conf.producer_max_request_size == 8 << 20
    assert not conf.web_enabled
    assert conf.topic_disable_leader
    assert conf.table_standby_replicas == 0
    assert conf.consumer_auto_offset_reset == "earliest"
    assert isinstance(app.transport, kafka.Transport)
    assert issubclass(app.transport.Consumer, kafka.Consumer)


def test_the_password_reaches_faust_and_no_text(tmp_path: Path) -> None:
    settings = BrokerSettings(("one:9092",), "SASL_PLAINTEXT", "SCRAM-SHA-256", "alice", SECRET)
    app = make_app("worker", settings, datadir=tmp_path)
    credentials = app.conf.broker_credentials
    assert (credentials.username, credentials.password) == ("alice", SECRET)
    assert credentials.mechanism.value == "SCRAM-SHA-256"
    assert credentials.protocol == AuthProtocol.SASL_PLAINTEXT
    assert SECRET not in repr(settings) + repr(credentials) + repr(app) + str(app.conf.broker)


def test_aiokafka_gets_the_same(tmp_path: Path) -> None:
    settings = BrokerSettings(("one:9092",), "SASL_SSL", "PLAIN", "alice", SECRET)
    options = client_options(settings)
    assert options["bootstrap_servers"] == ["one:9092"]
    assert (options["sasl_plain_username"], options["sasl_plain_password"]) == ("alice", SECRET)
    assert options["ssl_context"].check_hostname
    plain = client_options(BrokerSettings(("one:9092",)))
    assert plain == {"bootstrap_servers": ["one:9092"], "security_protocol": "PLAINTEXT"}


def test_a_certificate_that_is_none_is_named(tmp_path: Path) -> None:
    cafile = tmp_path / "ca.pem"
    cafile.write_text("not a certificate")
    with pytest.raises(BadInput, match=r"cannot use .*ca\.pem"):
        client_options(BrokerSettings(("one:9092",), "SSL", cafile=cafile))


def test_libraries_are_silent_unless_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    faust = logging.getLogger("faust")
    monkeypatch.setattr(faust, "level", logging.NOTSET)
    monkeypatch.setattr(root, "level", logging.DEBUG)
    faust.manager._clear_cache()  # type: ignore[attr-defined]
    quiet()
    assert faust.level == logging.NOTSET
    monkeypatch.setattr(root, "level", logging.WARNING)
    faust.manager._clear_cache()  # type: ignore[attr-defined]
    quiet()
    assert faust.level > logging.CRITICAL
