from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from serving.common.redaction import Secrets, redact, without_secrets

PASSWORD = "s3cr3t w/ $ymb0ls+=,;é\"'\\"

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "percent": quote,
    "percent, slashes too": lambda text: quote(text, safe=""),
    "percent, small": lambda text: quote(text, safe="").lower(),
    "percent, twice": lambda text: quote(quote(text, safe=""), safe=""),
    "form": quote_plus,
    "repr": repr,
    "repr of repr": lambda text: repr(repr(text)),
    "repr of bytes": lambda text: repr(text.encode()),
    "repr in the middle of bytes": lambda text: repr(bytearray(b"\x00\x13alice\x00" + text.encode() + b"\x00")),
    "ascii": ascii,
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "HTML": html.escape,
    "hexadecimal": lambda text: text.encode().hex(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for URIs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "HTTP basic": lambda text: base64.b64encode(b"cam:" + text.encode()).decode(),
    "SASL PLAIN": lambda text: base64.b64encode(b"\0alice\0" + text.encode()).decode(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_known_secret_is_hidden_in_every_spelling(spelling: str) -> None:
    secrets = Secrets()
    secrets.add([PASSWORD])
    spelt = SPELLINGS[spelling](PASSWORD)
    shown = secrets.redact(f"before {spelt} after")
    assert spelt not in shown
    assert "***" in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    # of what base64 or quotes put around the secret, a few characters may stay; of the secret itself, nothing
    assert not any(part in shown for part in (PASSWORD[:6], PASSWORD[-9:-3], quote(PASSWORD, safe="")[:9]))


def test_the_encoded_secret_is_found_as_well_where_it_was_given_encoded() -> None:
    secrets = Secrets()
    secrets.add([quote(PASSWORD, safe="")])
    assert secrets.redact(f"<{PASSWORD}>") == "<***>"


EXACT = ["as it is", "percent", "percent, small", "percent, twice", "form", "repr", "repr of bytes", "ascii", "JSON"]


@settings(deadline=None)
@example("000%", "percent")
@given(st.text(st.characters(codec="utf-8"), min_size=4, max_size=20), st.sampled_from(EXACT))
def test_whatever_the_secret_it_is_hidden_whole(password: str, spelling: str) -> None:
    secrets = Secrets()
    secrets.add([password])
    assert re.fullmatch(r"<< b?['\"]?\*\*\*['\"]? >>", secrets.redact(f"<< {SPELLINGS[spelling](password)} >>"))


def test_a_short_secret_does_not_eat_other_words() -> None:
    secrets = Secrets()
    secrets.add(["on"])
    assert secrets.redact("connection on: 'on'") == "connection ***: '***'"


def test_of_two_secrets_the_longer_goes_first() -> None:
    secrets = Secrets()
    secrets.add(["pass", "passage"])
    assert secrets.redact("passage pass") == "*** ***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{'sasl_plain_password': 'x\\'y z', 'a': 1}", "{'sasl_plain_password': ***, 'a': 1}"),
        ('{"password": "x y", "b": 2}', '{"password": ***, "b": 2}'),
        ("password=hunter2, user=bob", "password=***, user=bob"),
        ("Password: hunter2", "Password: ***"),
        ("password: Permission", "password: ***"),
        ("password: isolde", "password: ***"),
        ("sinks[0].password=hunter2", "sinks[0].password=***"),
        ("sinks[0].password:hunter2", "sinks[0].password:***"),
        ("[0].a: the mqtt-password: hunter2", "[0].a: the mqtt-password: ***"),
        ("SLUICE_KAFKA_PASSWORD=hunter2", "SLUICE_KAFKA_PASSWORD=***"),
        ("aws_secret_access_key => 'AKIA' next", "aws_secret_access_key => *** next"),
        ("open rtsp://bob:p/a@s@10.0.0.5/cam failed", "open rtsp://***@10.0.0.5/cam failed"),
        ("GET http://cam/x?a=1&token=abc&b=2", "GET http://cam/x?a=1&token=***&b=2"),
        ("Authorization: Basic Y2FtOnB3", "Authorization: ***"),
        ("{'Authorization': 'Bearer abc.def'}", "{'Authorization': '***'}"),
        (
            "SaslAuthenticateRequest(version=2, auth_bytes=b'\\x00a\\x00b')",
            "SaslAuthenticateRequest(version=2, auth_bytes=***)",
        ),
        ("c=biws,r=abc,p=" + "A" * 43 + "=", "c=biws,r=abc,p=***"),
        ("-----BEGIN EC PRIVATE KEY-----\nMHcCAQ\nEE=\n-----END EC PRIVATE KEY-----\nmore", "***\nmore"),
        ("b'-----BEGIN PRIVATE KEY-----\\nMHcCAQ", "b'***"),
    ],
)
def test_what_looks_like_a_secret_is_hidden_unknown_as_it_is(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "check SLUICE_KAFKA_USERNAME, SLUICE_KAFKA_PASSWORD and SLUICE_KAFKA_SASL_MECHANISM",
        "ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, max_version=4)])",
        "sasl_plain_password=None",
        "stream camera: running, 20 frames (https://example.org/a?b=c)",
        "mail admin@example.org; see http://example.org/x",
        "sinks.yaml:3: sinks[0].password: a secret does not belong in this file: write {env: NAME} or {file: PATH}",
        "sinks[0].password: mqtt-password: No such file or directory",
        "sinks[0].password: /run/secrets/mqtt-password: Permission denied",
        "sinks[1].secret: the environment variable ALARMS_SECRET is not set",
        "backends.gpu.token: the environment variable GPU_TOKEN is not set",
        "backends.gpu.token: a secret has 1 to 4096 printable characters",
        "give the backend's token as metadata: authorization, Bearer",
        "--secret-file secret.txt: No such file or directory",
        "secrets.yaml: cannot be read (No such file or directory)",
        "--secret-file token: it is no text in UTF-8",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text


def test_children_get_no_passwords() -> None:
    environ = {"SLUICE_KAFKA_PASSWORD": "x", "AWS_SECRET_ACCESS_KEY": "y", "SLUICE_KAFKA_KEYFILE": "f", "PATH": "/bin"}
    assert without_secrets(environ) == {"SLUICE_KAFKA_KEYFILE": "f", "PATH": "/bin"}
