from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.capture.sources.uri import SourceUri
from serving.common.redaction import redact
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
    assert uri.reveal() == text.replace("RTSPS:", "rtsps:"), "FFmpeg knows small letters alone"


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


VALUES = {"CAM_USER": "bo b", "CAM_PASSWORD": "p@ss/w:rd%", "file:token": "t0ken-of-camera", "HOST": "10.0.0.9:554"}


@pytest.mark.parametrize(
    ("text", "shown", "revealed", "stream_id"),
    [
        (
            "rtsp://${CAM_USER}:${CAM_PASSWORD}@cam/1",
            "rtsp://***@cam/1",
            "rtsp://bo%20b:p%40ss%2Fw%3Ard%25@cam/1",
            "cam-1",
        ),
        (
            "rtsp://bob:${CAM_PASSWORD}@${HOST}/1",
            "rtsp://***@${HOST}/1",
            "rtsp://bob:p%40ss%2Fw%3Ard%25@10.0.0.9:554/1",
            "1",
        ),
        (
            "http://cam/v?token=${file:token}&q=1",
            "http://cam/v?token=***&q=1",
            "http://cam/v?token=t0ken-of-camera&q=1",
            "cam-v",
        ),
        ("rtsp://cam/${file:token}/1", "rtsp://cam/${file:token}/1", "rtsp://cam/t0ken-of-camera/1", "cam-1"),
        ("rtsp://cam/1", "rtsp://cam/1", "rtsp://cam/1", "cam-1"),
    ],
)
def test_placeholders_are_filled_when_the_address_is_revealed(
    text: str, shown: str, revealed: str, stream_id: str
) -> None:
    asked: list[str] = []

    def fill(name: str) -> str:
        asked.append(name)
        return VALUES[name]

    uri = SourceUri(text, fill)
    assert (str(uri), uri.stream_id, uri.live, uri.kind in repr(uri)) == (shown, stream_id, True, True)
    assert asked == []
    assert [uri.reveal(), uri.reveal()] == [revealed, revealed]
    assert len(asked) == text.count("$")
    assert (str(uri), uri.stream_id) == (shown, stream_id)
    said = uri.redact(f"cannot open {revealed}: 401 for {VALUES['CAM_PASSWORD'] if 'PASS' in text else 'you'}")
    assert said.startswith(f"cannot open {shown}: 401 for ")
    assert not any(VALUES[name] in said for name in asked)
    assert not any(VALUES[name] in redact(f"<{VALUES[name]}>") for name in asked)


def test_the_name_of_a_placeholder_is_no_secret() -> None:
    SourceUri("rtsp://bob:${CAM_PASSWORD}@cam/1", VALUES.__getitem__)
    assert (
        redact("the environment variable CAM_PASSWORD is not set") == "the environment variable CAM_PASSWORD is not set"
    )


def test_without_somebody_to_fill_them_signs_are_signs() -> None:
    assert SourceUri("rtsp://bob:${X}@cam/1").reveal() == "rtsp://bob:${X}@cam/1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${CAMERA}", "stands only in the address of a camera"),
        ("${DIR}/clip.mp4", "stands only in the address of a camera"),
        ("${KIND}://cam/1", "unknown kind"),
        ("rtsp://bob:${}@cam/1", "write ${NAME} or ${file:PATH}"),
        ("rtsp://bob:${1X}@cam/1", "write ${NAME} or ${file:PATH}"),
        ("rtsp://bob:${env:X}@cam/1", "write ${NAME} or ${file:PATH}"),
        ("rtsp://bob:${X@cam/1", "write ${NAME} or ${file:PATH}"),
        ("rtsp://bob:${file:}@cam/1", "write ${NAME} or ${file:PATH}"),
    ],
)
def test_other_placeholders_are_refused_in_a_line(text: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        SourceUri(text, VALUES.__getitem__)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "revealed"),
    [
        ("rtsp://cam@h/cam", "rtsp://cam:@h/cam"),
        ("rtsp://cam:@h/1", "rtsp://cam:@h/1"),
        ("rtsp://cam:p@h/1", "rtsp://cam:p@h/1"),
        ("http://h/a@b", "http://h/a@b"),
    ],
)
def test_ffmpeg_gets_a_colon_behind_each_user(text: str, revealed: str) -> None:
    assert SourceUri(text).reveal_to_ffmpeg() == revealed


def test_what_makes_no_address_is_refused_when_it_is_revealed() -> None:
    with pytest.raises(SourceError, match="no valid host"):
        SourceUri("rtsp://bob:${CAM_PASSWORD}@${CAM_USER}/1", VALUES.__getitem__).reveal()


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("rtsp://admin:hunter%2F22@cam:554/1?profile=2", "rtsp://admin:<hunter/22>@cam:554/1?profile=2"),
        ("http://cam/video?token=hunter22&size=2", "http://cam/video?token=<hunter22>&size=2"),
        ("rtsp://cam/password=hunter22/1", "rtsp://cam/password=<hunter22>/1"),
        ("rtsp://admin@cam/1", "rtsp://<admin>@cam/1"),
        ("rtsp://cam/1", "rtsp://cam/1"),
        ("v4l2:0", "v4l2:0"),
    ],
)
def test_secrets_are_replaced(text: str, replaced: str) -> None:
    assert SourceUri(text).with_secrets_replaced(lambda secret: f"<{secret}>") == replaced


@pytest.mark.parametrize(
    ("text", "single"),
    [
        ("album", True),
        ("photo.JPG", True),
        ("gate.mp4", False),
        ("elsewhere/album", True),
        ("elsewhere/gate.mp4", False),
        ("clip", False),
        ("rtsp://cam/photo.jpg", False),
        ("synthetic:street", False),
        ("v4l2:0", False),
        ("x" * 5000, True),
    ],
)
def test_folders_and_images_are_single_pictures_also_where_they_are_not_here(
    text: str, single: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "album").mkdir()
    (tmp_path / "clip").write_bytes(b"a clip without a suffix")
    assert SourceUri(text).of_pictures is single
