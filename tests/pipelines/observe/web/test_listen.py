"""Where a process may listen, and with what secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.observe.web.listen import LEAST_SECRET, listen_on, read_secret
from serving.common.redaction import redact
from serving.errors import BadInput

SECRET = "a secret of many letters"


@pytest.mark.parametrize("text", ["127.0.0.1:80", "localhost:0", "[::1]:8470", "127.8.8.8:1"])
def test_on_the_loopback_interface_no_secret_is_needed(text: str) -> None:
    listen = listen_on(text, None)
    assert listen.is_loopback
    assert str(listen) == text


@pytest.mark.parametrize("text", ["0.0.0.0:80", "[::]:80", "192.168.0.7:80", "cam.example:80", "localhost.evil:80"])
def test_elsewhere_a_secret_is_needed(text: str) -> None:
    with pytest.raises(BadInput, match=r"--secret-file or SLUICE_SERVE_SECRET, or listen on 127\.0\.0\.1"):
        listen_on(text, None)
    assert not listen_on(text, SECRET).is_loopback


@pytest.mark.parametrize("text", ["", "80", ":80", "a:", "a:b", "a:70000", "http://a:80", "a:80/x", "a b:80", "::1:80"])
def test_what_is_no_address_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(BadInput, match="give HOST:PORT") as caught:
        listen_on(text, SECRET)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("secret", ["", "short", "x" * (LEAST_SECRET - 1), "x" * 2000])
def test_a_secret_that_can_be_guessed_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(BadInput, match="openssl") as caught:
        listen_on("0.0.0.0:80", secret)
    assert not secret or secret not in str(caught.value)


def test_the_secret_shows_nowhere() -> None:
    assert SECRET not in repr(listen_on("0.0.0.0:80", SECRET))
    assert SECRET not in redact(f"given: {SECRET}")


def test_a_secret_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\nnotes\n")
    assert read_secret(tmp_path / "secret") == SECRET
    with pytest.raises(BadInput, match="No such file"):
        read_secret(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="UTF-8"):
        read_secret(tmp_path / "bytes")
