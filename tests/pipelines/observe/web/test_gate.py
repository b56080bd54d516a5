"""Who is let in."""

from __future__ import annotations

import base64

import pytest

from pipelines.observe.web.gate import refusal
from pipelines.observe.web.listen import listen_on

SECRET = "a secret of many letters"
LOCAL, REMOTE = listen_on("127.0.0.1:80", None), listen_on("0.0.0.0:80", SECRET)


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()


def status(listen: object, path: str = "/", **headers: str) -> int:
    found = refusal(listen, path, {"Host": "localhost:80", **headers})  # type: ignore[arg-type]
    return 200 if found is None else found.status


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8470", "[::1]:8470", "LOCALHOST:1"])
def test_this_machine_is_let_in(host: str) -> None:
    assert status(LOCAL, Host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.com",
        "evil.com:80",
        "localhost.evil.com",
        "127.0.0.1.evil.com",
        "[",
        "a][",
        "evil@localhost",
        "evil.com:80@localhost",
        "localhost/evil",
        "localhost?",
        "localhost:",
        "localhost:1:2",
    ],
)
def test_a_foreign_name_that_points_here_is_not(host: str) -> None:
    assert status(LOCAL, Host=host) == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.com", "null", "http://localhost:81", "[", "http://[", "", "http://a@localhost:80"]
)
def test_a_page_of_another_origin_is_not(origin: str) -> None:
    for listen in (LOCAL, REMOTE):
        assert status(listen, Origin=origin, Authorization=f"Bearer {SECRET}") == 403


def test_the_page_itself_is() -> None:
    assert status(LOCAL, Origin="http://localhost:80") == 200


@pytest.mark.parametrize("given", [f"Bearer {SECRET}", f"bearer {SECRET}", basic(SECRET)])
def test_with_the_secret_one_is_let_in(given: str) -> None:
    assert status(REMOTE, Host="cam.example", Authorization=given) == 200


def test_bytes_that_are_no_text_are_a_secret_and_no_wildcard() -> None:
    listen = listen_on("0.0.0.0:80", "\udcff" * 16)
    assert status(listen, Host="cam.example", Authorization="Bearer " + "\udcff" * 16) == 200
    assert status(listen, Host="cam.example", Authorization="Bearer " + "?" * 16) == 401


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {SECRET}x",
        f"Digest {SECRET}",
        SECRET,
        basic(""),
        basic("é"),
        "Basic !",
        "Basic /w==",
    ],
)
def test_without_it_one_is_asked_for_it(given: str) -> None:
    found = refusal(REMOTE, "/metrics", {"Host": "cam.example", "Authorization": given})
    assert found is not None
    assert found.status == 401
    assert found.headers["WWW-Authenticate"].startswith("Basic")
    assert SECRET not in found.why


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_needs_no_secret_but_the_right_name(path: str) -> None:
    assert status(REMOTE, path) == 200
    assert status(LOCAL, path, Host="evil.com") == 403


def test_behind_a_proxy_whose_name_it_does_not_know_the_secret_lets_in_and_nothing_else_does() -> None:
    behind = listen_on("127.0.0.1:80", SECRET)
    assert status(behind, Host="cams.example", Authorization=f"Bearer {SECRET}") == 200
    assert status(behind, Host="cams.example") == 401
