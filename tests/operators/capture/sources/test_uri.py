from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.capture.sources.uri import SourceUri
from serving.errors import SourceError


@pytest.mark.parametrize(
    ("text", "kind", "live", "shown", "stream_id"),
    [
        ("clips/Car Detection.mp4", "path", False, "clips/Car Detection.mp4", "car-detection"),
        ("file:///data/a%20b.mkv", "path", False, "file:///data/a%20b.mkv", "a-b"),
        ("odd:name.mp4", "path", False, "odd:name.mp4", "odd-name"),
        ("synthetic:street?seed=7&night=1", "synthetic", False, "synthetic:street?seed=7&night=1", "street-7"),
        ("v4l2:0", "v4l2", True, "v4l2:0", "v4l2-0"),
        ("rtsp://cam:554/live/1", "rtsp", True, "rtsp://cam:554/live/1", "cam-live-1"),
        ("RTSPS://[::1]:8554/x", "rtsp", True, "rtsps://[::1]:8554/x", "1-8554-x"),
        ("rtsp://u:p%40ss@10.0.0.5/cam1", "rtsp", True, "rtsp://***@10.0.0.5/cam1", "10-0-0-5-cam1"),
        ("http://h/v.mp4?token=a/b=&q=1", "http", True, "http://h/v.mp4?token=***&q=1", "h-v-mp4"),
        ("https://h/@user/v.mp4", "http", True, "https://h/@user/v.mp4", "h-user-v-mp4"),
        (
            "rtsp://10.0.0.5:554/user=admin&password=hunter2&channel=1.sdp",
            "rtsp",
            True,
            "rtsp://10.0.0.5:554/user=***&password=***&channel=1.sdp",
            "10-0-0-5-channel-1-sdp",
        ),
    ],
)
def test_kinds(text: str, kind: str, live: bool, shown: str, stream_id: str) -> None:
    uri = SourceUri(text)
    assert (uri.kind, uri.live, str(uri), uri.stream_id) == (kind, live, shown, stream_id)
    assert uri.reveal() == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ftp://u:secret@h/x", "unknown kind"),
        ("", "not understood"),
        ("v4l2:front", "not understood"),
        ("http://", "no valid host"),
        ("rtsp://u:secret@host:port/x", "no valid host"),
        ("rtsp://u:sec/ret@host/x", "percent-encode"),
        ("rtsp://u:sec?ret@host/x", "percent-encode"),
        ("rtsp://u:sec@ret@host/x", "percent-encode"),
        ("http://u:sec/ret@host/x", "percent-encode"),
    ],
)
def test_malformed(text: str, says: str) -> None:
    with pytest.raises(SourceError, match=says) as caught:
        SourceUri(text)
    assert "sec" not in str(caught.value)
    assert caught.value.reason == "invalid_uri"


def test_parts_by_kind() -> None:
    assert SourceUri("file://localhost/a%20b.mp4").path == Path("/a b.mp4")
    assert SourceUri("file:clips/a.mp4").path == Path("clips/a.mp4")
    assert SourceUri("v4l2:2").device == "/dev/video2"
    assert SourceUri("v4l2:/dev/camera").device == "/dev/camera"
    assert SourceUri("synthetic:street?seed=1&night=").generator == ("street", {"seed": "1", "night": ""})


def test_redacts_messages_in_every_spelling() -> None:
    uri = SourceUri("rtsp://camera:p%40ss%2fword@h:8554/camera?token=abcd1234")
    text = f"[Errno 1] 401: '{uri.reveal()}' user camera, tried p@ss/word, p%40ss%2Fword and P%40SS%2FWORD; ABCD1234"
    assert uri.redact(text) == f"[Errno 1] 401: '{uri}' user ***, tried ***, *** and ***; ***"


def test_redacts_other_uris_of_a_message() -> None:
    assert SourceUri("rtsp://h/x").redact("redirected to rtsp://a:b@h2/x") == "redirected to rtsp://***@h2/x"


def test_a_short_password_spares_words() -> None:
    assert SourceUri("rtsp://u:a@h/x").redact("a stream, as a:") == "*** stream, as ***:"


@settings(deadline=None)
@given(user=st.text(min_size=1, max_size=12), password=st.text(min_size=4, max_size=20))
def test_credentials_never_show(user: str, password: str) -> None:
    uri = SourceUri(f"rtsp://{quote(user, safe='')}:{quote(password, safe='')}@camera.local:554/1")
    assert str(uri) == "rtsp://***@camera.local:554/1"
    assert str(uri) in repr(uri)
    assert str(uri) in uri.redact(f"cannot open <{uri.reveal()}>")  # a user called "<" goes too
    assert password.lower() not in uri.redact(f"no {password}!").lower().replace("***", "")


def test_equality_and_hash() -> None:
    assert SourceUri("v4l2:0") == SourceUri("v4l2:0")
    assert len({SourceUri("v4l2:0"), SourceUri("v4l2:0"), SourceUri("v4l2:1")}) == 2
