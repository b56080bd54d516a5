from __future__ import annotations

import ssl

import pytest

from pipelines.kafka.verdict import Seen, tls_trouble, verdict
from pipelines.settings import BrokerSettings

SETTINGS = BrokerSettings(("one:9092", "two:9092"), "SASL_SSL", "PLAIN", "alice", "hunter22")
READY, AWAY, REFUSED = Seen("ready"), Seen("absent", "one:9092: Connection refused"), Seen("credentials")


@pytest.mark.parametrize("seen", [[READY], [AWAY, READY], [REFUSED, READY]])
def test_one_server_that_lets_us_in_is_enough(seen: list[Seen]) -> None:
    assert verdict(SETTINGS, seen) is None


def test_absence_is_waited_for_and_a_refusal_is_not() -> None:
    away, refused = verdict(SETTINGS, [AWAY, AWAY]), verdict(SETTINGS, [AWAY, REFUSED])
    assert away is not None
    assert refused is not None
    assert (away.final, refused.final) == (False, True)
    assert "Connection refused" in away.text
    assert "refuses the user 'alice' by PLAIN" in refused.text


@pytest.mark.parametrize("error", [ConnectionResetError(), TimeoutError(), ssl.SSLEOFError(8, "EOF"), OSError("x")])
def test_a_connection_that_breaks_says_nothing_of_tls(error: Exception) -> None:
    assert tls_trouble(error) is None


def test_a_server_without_tls_and_one_of_another_kind_are_told_apart() -> None:
    plain, other = ssl.SSLError(1, "x"), ssl.SSLError(1, "x")
    plain.reason, other.reason = "WRONG_VERSION_NUMBER", "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert tls_trouble(plain) == Seen("no_tls")
    assert tls_trouble(other) == Seen("tls", "tlsv13 alert certificate required")


@pytest.mark.parametrize("fact", ["certificate", "tls", "no_tls", "wants_tls", "wants_user", "no_user", "mechanism"])
def test_every_refusal_is_one_line_that_says_what_to_do(fact: str) -> None:
    found = verdict(SETTINGS, [Seen(fact, "detail")])  # type: ignore[arg-type]
    assert found is not None
    assert found.final
    assert found.text.startswith("the broker at kafka://one:9092,two:9092 ")
    assert "\n" not in found.text
    assert any(word in found.text for word in ("set ", "name ", "check "))
    assert "hunter22" not in found.text
