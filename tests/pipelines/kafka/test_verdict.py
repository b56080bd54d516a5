from __future__ import annotations

import ssl

import aiokafka.errors
import kafka.errors
import pytest

from pipelines.kafka.verdict import verdict
from pipelines.settings import BrokerSettings

SETTINGS = BrokerSettings(("one:9092", "two:9092"), "SASL_SSL", "PLAIN", "alice", "hunter22")


def tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "x")
    error.reason = reason
    return error


def untrusted(why: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "x")
    error.verify_message = why
    return error


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        ConnectionResetError(),
        TimeoutError(),
        OSError("x"),
        ssl.SSLEOFError(8, "EOF"),
        tls("UNEXPECTED_EOF_WHILE_READING"),
        aiokafka.errors.KafkaConnectionError(),
        kafka.errors.KafkaTimeoutError(),
    ],
)
def test_a_server_that_says_nothing_is_waited_for(error: Exception) -> None:
    found = verdict(SETTINGS, "one:9092", error)
    assert not found.final
    assert found.text.startswith("one:9092: ")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (tls("WRONG_VERSION_NUMBER"), "wrong version number"),
        (tls("TLSV13_ALERT_CERTIFICATE_REQUIRED"), "SLUICE_KAFKA_CERTFILE"),
        (untrusted("certificate has expired."), "renew the broker's certificate"),
        (untrusted("Hostname mismatch"), "as its certificate has it"),
        (untrusted("self-signed certificate"), "SLUICE_KAFKA_CAFILE"),
        (aiokafka.errors.IllegalSaslStateError(), "wants no user"),
        (aiokafka.errors.UnsupportedSaslMechanismError(), "the mechanism PLAIN"),
        (aiokafka.errors.SaslAuthenticationFailed(), "refuses the user 'alice' by PLAIN"),
        (kafka.errors.SaslAuthenticationFailedError(), "refuses the user 'alice' by PLAIN"),
    ],
)
def test_a_refusal_is_final_and_one_line_that_says_what_to_do(error: Exception, told: str) -> None:
    found = verdict(SETTINGS, "one:9092", error)
    assert found.final
    assert found.text.startswith("the broker at kafka://one:9092,two:9092 ")
    assert told in found.text
    assert "\n" not in found.text
    assert any(word in found.text for word in ("set ", "name ", "check ", "give ", "renew "))
    assert "hunter22" not in found.text
