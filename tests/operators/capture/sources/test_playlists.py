"""Playlists of HTTP Live Streaming, from a real web server."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from operators.capture.sources.decode import VideoReader
from operators.capture.sources.sampling import Sampling
from operators.capture.sources.uri import SourceUri
from serving.errors import SourceError
from tests.operators.capture.stamped_clips import steadily, write
from tests.real.http_files import serve_files

SEGMENTS = 6


def playlist(name: str) -> bytes:
    parts = "".join(f"#EXTINF:1.0,\n{name}{part}.ts\n" for part in range(SEGMENTS))
    return f"#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n{parts}#EXT-X-ENDLIST\n".encode()


def test_of_several_qualities_the_others_are_not_fetched(tmp_path: Path) -> None:
    files = {"/low.m3u8": playlist("low"), "/high.m3u8": playlist("high")}
    for part in range(SEGMENTS):
        content = write(tmp_path / "a.ts", steadily(10), start_s=part).read_bytes()
        files |= {f"/low{part}.ts": content, f"/high{part}.ts": content}
    variants = "".join(
        f"#EXT-X-STREAM-INF:BANDWIDTH={rate}\n{name}.m3u8\n" for rate, name in ((9, "low"), (9000, "high"))
    )
    files["/all.m3u8"] = f"#EXTM3U\n{variants}".encode()
    with serve_files(files) as server:
        with closing(VideoReader(SourceUri(f"{server.url}/all.m3u8"), Sampling())) as reader:
            found = [picture.media_time_s for picture in reader.pictures()]
        fetched = [sum(path.startswith(f"/{name}") for path in server.requests) for name in ("low", "high")]
    assert found == pytest.approx(steadily(10 * SEGMENTS))
    assert max(fetched) == SEGMENTS + 1 > min(fetched)


def test_a_playlist_from_the_web_leads_to_no_file_of_this_machine(tmp_path: Path) -> None:
    clip = write(tmp_path / "low0.ts", steadily(10))
    with serve_files({"/a.m3u8": playlist(f"file://{clip.parent}/low")}) as server, pytest.raises(SourceError):
        VideoReader(SourceUri(f"{server.url}/a.m3u8"), Sampling())
