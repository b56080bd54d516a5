from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from pipelines.process.heap import machine_memory_bytes
from pipelines.settings import (
    BrokerSettings,
    StreamBounds,
    broker_settings,
    cache_dir,
    decoded_memory,
    device,
    hwaccel,
    model_dirs,
    model_memory,
    model_timeout_s,
    parse_servers,
    stalled_end_s,
    stream_bounds,
)
from serving.common.redaction import redact
from serving.errors import BadInput

SASL = {
    "SLUICE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    "SLUICE_KAFKA_USERNAME": "alice",
    "SLUICE_KAFKA_PASSWORD": "it-is-a-secret",
}


@pytest.mark.parametrize(
    ("url", "servers"),
    [
        ("kafka://broker:9093", ("broker:9093",)),
        ("broker:9093", ("broker:9093",)),
        ("broker", ("broker:9092",)),
        ("kafka://a:1,b:2,c", ("a:1", "b:2", "c:9092")),
        ("kafka://[::1]:9092", ("[::1]:9092",)),
        ("kafka://10.0.0.5:9092/", ("10.0.0.5:9092",)),
    ],
)
def test_addresses(url: str, servers: tuple[str, ...]) -> None:
    assert parse_servers(url) == servers


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://broker:9092", "only kafka://"),
        ("local://x", "only kafka://"),
        ("kafka://broker:99999", "not HOST:PORT"),
        ("kafka://", "not HOST:PORT"),
        ("broker:٩٠", "not HOST:PORT"),
        ("a b:9092", "not HOST:PORT"),
    ],
)
def test_misspelt_addresses(url: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        parse_servers(url)


def test_credentials_in_the_address_are_refused_and_not_repeated() -> None:
    with pytest.raises(BadInput, match="SLUICE_KAFKA_PASSWORD") as caught:
        parse_servers("kafka://alice:it-is-a-secret@broker:9092")
    assert "it-is-a-secret" not in str(caught.value)


def test_the_option_wins_over_the_environment() -> None:
    environ = {"SLUICE_BROKER": "kafka://from-environment"}
    assert broker_settings(None, environ).url == "kafka://from-environment:9092"
    assert broker_settings("given:1", environ).url == "kafka://given:1"


def test_no_broker_at_all_says_how_to_name_one() -> None:
    with pytest.raises(BadInput, match=r"--broker.*SLUICE_BROKER"):
        broker_settings(None, {})


def test_the_password_shows_in_no_repr() -> None:
    settings = broker_settings("broker", SASL)
    assert settings.password == "it-is-a-secret"
    assert "it-is-a-secret" not in repr(settings) + str(settings)


def test_files_of_tls_are_found(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).touch()
    environ = {
        "SLUICE_KAFKA_SECURITY_PROTOCOL": "SSL",
        "SLUICE_KAFKA_CAFILE": str(tmp_path / "ca"),
        "SLUICE_KAFKA_CERTFILE": str(tmp_path / "cert"),
        "SLUICE_KAFKA_KEYFILE": str(tmp_path / "key"),
    }
    given = broker_settings("broker", environ)
    assert [path and path.name for path in (given.cafile, given.certfile, given.keyfile)] == ["ca", "cert", "key"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"SLUICE_KAFKA_SECURITY_PROTOCOL": "TLS"}, "allowed are PLAINTEXT, SSL"),
        ({"SLUICE_KAFKA_SASL_MECHANISM": "GSSAPI"}, "allowed are PLAIN"),
        ({"SLUICE_KAFKA_PASSWORD": ""}, "needs SLUICE_KAFKA_USERNAME and SLUICE_KAFKA_PASSWORD"),
        ({"SLUICE_KAFKA_SECURITY_PROTOCOL": "SSL"}, r"is not SASL_\*"),
        ({"SLUICE_KAFKA_CAFILE": "/no/such/file"}, "no file /no/such/file"),
        ({"SLUICE_KAFKA_CAFILE": "a" * 300}, "SLUICE_KAFKA_CAFILE: no file aaa"),
    ],
)
def test_settings_that_do_not_go_together(change: dict[str, str], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        broker_settings("broker", SASL | change)


def test_trusted_certificates_without_tls_are_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "ca").touch()
    with pytest.raises(BadInput, match="SSL or SASL_SSL"):
        broker_settings("broker", {"SLUICE_KAFKA_CAFILE": str(tmp_path / "ca")})


def test_directories_of_models() -> None:
    assert model_dirs({"SLUICE_MODELS": "/a:/b::"}) == [Path("/a"), Path("/b")]
    assert model_dirs({}) == []


@pytest.mark.parametrize(
    ("given", "bytes_"), [(None, None), ("", None), ("512MiB", 512 << 20), ("1.5 GiB", 3 << 29), (" 2GiB ", 2 << 30)]
)
def test_the_memory_of_models_is_a_size(given: str | None, bytes_: int | None) -> None:
    environ = {} if given is None else {"SLUICE_MODEL_MEMORY": given}
    assert model_memory(environ) == bytes_


@pytest.mark.parametrize(
    "given", ["2", "2GB", "-1GiB", "0MiB", "much", "9" * 400 + "GiB", "0.0000001MiB", "٣GiB", "1.٣GiB"]
)
def test_what_is_no_size_is_refused(given: str) -> None:
    with pytest.raises(BadInput, match=r"SLUICE_MODEL_MEMORY is .*: give a size such as 512MiB or 2GiB"):
        model_memory({"SLUICE_MODEL_MEMORY": given})


@pytest.mark.parametrize(("given", "seconds"), [(None, 60), ("", 60), ("5", 5), ("0.5", 0.5), (" 120 s ", 120)])
def test_networks_may_take_a_time(given: str | None, seconds: float) -> None:
    environ = {} if given is None else {"SLUICE_MODEL_TIMEOUT": given}
    assert model_timeout_s(environ) == seconds


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "1e9", "long", "5 min"])
def test_what_is_no_time_is_refused(given: str) -> None:
    with pytest.raises(BadInput, match=r"SLUICE_MODEL_TIMEOUT is .*: give a number of seconds above 0"):
        model_timeout_s({"SLUICE_MODEL_TIMEOUT": given})


def test_the_cache_can_be_moved(tmp_path: Path) -> None:
    assert cache_dir({"SLUICE_CACHE": str(tmp_path)}) == tmp_path
    assert cache_dir({}) is None


def test_decoded_memory_is_given_or_a_share_of_the_machine() -> None:
    assert decoded_memory({"SLUICE_DECODED_MEMORY": "512MiB"}) == 512 << 20
    assert decoded_memory({}) == machine_memory_bytes() // 4
    with pytest.raises(BadInput, match=r"SLUICE_DECODED_MEMORY is .*: give a size such as 512MiB or 2GiB"):
        decoded_memory({"SLUICE_DECODED_MEMORY": "lots"})


def test_what_runs_networks() -> None:
    assert device({}) == ("auto", 0)
    assert device({"SLUICE_DEVICE": "cpu"}) == ("cpu", 0)
    assert [device({"SLUICE_DEVICE": each}) for each in ("cuda", " cuda ", "cuda:11")] == [
        ("cuda", 0),
        ("cuda", 0),
        ("cuda", 11),
    ]


@pytest.mark.parametrize("given", ["gpu", "cuda:", "cuda:x", "cuda:123", "cuda:٣", "cpu:1"])
def test_what_runs_no_networks_is_refused(given: str) -> None:
    with pytest.raises(BadInput, match=rf"^SLUICE_DEVICE is '{given}': allowed are auto, cpu, cuda$"):
        device({"SLUICE_DEVICE": given})


@pytest.mark.parametrize(("given", "word"), [(None, "none"), ("", "none"), ("auto", "auto"), ("vaapi", "vaapi")])
def test_what_decodes_video(given: str | None, word: str) -> None:
    assert hwaccel({} if given is None else {"SLUICE_HWACCEL": given}) == word


@pytest.mark.parametrize("given", ["gpu", "CUDA", "qsv", "cuda:1"])
def test_what_is_no_device_is_refused(given: str) -> None:
    with pytest.raises(BadInput, match=r"SLUICE_HWACCEL is .*: allowed are none, auto, cuda, vaapi, ") as caught:
        hwaccel({"SLUICE_HWACCEL": given})
    assert "\n" not in str(caught.value)


def test_what_it_is_given_in_secret_is_hidden_from_then_on(tmp_path: Path) -> None:
    keyfile = tmp_path / "key.pem"
    keyfile.write_text("-----BEGIN PRIVATE KEY-----\nMIIBVgIBADANBgkqhkiG9w0B\n-----END PRIVATE KEY-----\n")
    BrokerSettings(("a:9092",), "SASL_SSL", "PLAIN", "alice", "hunter22", keyfile=keyfile)
    assert redact("hunter22 MIIBVgIBADANBgkqhkiG9w0B") == "*** ***"


def test_bounds_of_streams_are_given_or_follow_from_the_machine() -> None:
    assert stream_bounds({"SLUICE_MAX_STREAMS": "7", "SLUICE_SILENT_STREAM_S": "60.5"}) == StreamBounds(7, 60.5)
    default = stream_bounds({})
    assert default == StreamBounds(max(64, machine_memory_bytes() >> 25), 3600.0)


@pytest.mark.parametrize(("given", "seconds"), [(None, 300.0), ("90", 90.0), ("2.5", 2.5), ("never", inf)])
def test_a_stalled_worker_ends_after_so_long(given: str | None, seconds: float) -> None:
    assert stalled_end_s({} if given is None else {"SLUICE_STALLED_END_S": given}) == seconds


@pytest.mark.parametrize("given", ["0", "-1", "soon"])
def test_a_worker_may_be_stalled_for_a_while(given: str) -> None:
    with pytest.raises(BadInput, match="SLUICE_STALLED_END_S is"):
        stalled_end_s({"SLUICE_STALLED_END_S": given})


@pytest.mark.parametrize("given", ["0", "-1", "many", "1e3"])
def test_bounds_of_streams_are_positive(given: str) -> None:
    with pytest.raises(BadInput, match="SLUICE_MAX_STREAMS is"):
        stream_bounds({"SLUICE_MAX_STREAMS": given})
