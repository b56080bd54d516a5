"""Fetches a public model: resumes what was cut, accepts only the exact content, replaces files only when whole."""

from __future__ import annotations

import errno
import http.client
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import yaml

from serving.catalogue.cards import CARD_FILE
from serving.catalogue.lookup import file_sha256
from serving.catalogue.public import Build, PublicModel
from serving.common.retrying import Backoff
from serving.errors import BadInput, ModelError, Unavailable

CHUNK_BYTES = 1 << 18
TIMEOUT_S = 30.0
BACKOFF = Backoff(first_s=0.5, max_s=4.0)
ATTEMPTS = 5
"""So many may bring nothing; an attempt that brings something starts the count anew."""

Progress = Callable[[int, int], None]
"""Told of bytes so far and bytes in all."""


@dataclass(frozen=True)
class _NotThere(Exception):
    """This URL does not have the file; another may."""

    reason: str


def pull(
    model: PublicModel,
    into: Path,
    mirror: str | None = None,
    progress: Progress = lambda done, total: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Path:
    """Fetch a model into ``into/<name>`` and return that folder; what is there and right is not fetched again.

    ``mirror``: a base URL that holds the file, by its URL's path, by its name, or by its whole URL.
    Raises Unavailable where no server has it or the connection stays broken (the part is kept), ModelError for wrong
    content (the part is removed), BadInput where the folder cannot be written.
    """
    folder = into / model.name
    target, part = folder / model.file, folder / f"{model.file}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        build = _present(model, target)
        if build is None:
            build = _fetch(model, candidates(model, mirror), part, progress, sleep)
            os.replace(part, target)
        _write_card(model, build, folder)
    except OSError as error:
        raise _cannot_write(error, folder) from error
    return folder


def candidates(model: PublicModel, mirror: str | None) -> list[str]:
    """The URLs to try; with a mirror only that."""
    if mirror is None:
        return list(model.urls)
    if urlsplit(mirror).scheme not in ("http", "https"):
        raise BadInput(f"mirror {mirror!r} must begin with http:// or https://")
    base = mirror.rstrip("/")
    by_path = [base + urlsplit(url).path for url in model.urls]
    return [*by_path, f"{base}/{model.file}", *(f"{base}/{url}" for url in model.urls)]


def _present(model: PublicModel, target: Path) -> Build | None:
    if not target.is_file():
        return None
    found = file_sha256(target)
    return next((build for build in model.builds if build.sha256 == found), None)


def _fetch(
    model: PublicModel, urls: Sequence[str], part: Path, progress: Progress, sleep: Callable[[float], None]
) -> Build:
    """Bring the part to one of the builds, from the first URL that has it: others are tried where one is of no use."""
    reasons, wrong = list[str](), None
    for url in urls:
        try:
            _fetch_from(url, model, part, progress, sleep)
            return _accepted(model, part)
        except _NotThere as absent:
            reasons.append(f"{url}: {absent.reason}")
        except Unavailable as error:
            reasons.append(str(error))
        except ModelError as error:
            wrong = wrong or error
    raise wrong or Unavailable(f"model {model.name!r} cannot be fetched: {'; '.join(reasons)}")


def _fetch_from(url: str, model: PublicModel, part: Path, progress: Progress, sleep: Callable[[float], None]) -> None:
    sizes = {build.size_bytes for build in model.builds}
    failures, rng = 0, random.Random()
    while (before := _size(part)) not in sizes or _present(model, part) is None:
        try:
            _attempt(url, model, part, progress)
            reason = "the connection was cut"
        except (URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            reason = str(getattr(error, "reason", "") or error or type(error).__name__)
        if _size(part) in sizes:
            return
        failures = failures + 1 if _size(part) <= before else 0
        if failures >= ATTEMPTS:
            raise Unavailable(f"{url}: {reason}, {failures} times; run the command again to go on where it stopped")
        sleep(BACKOFF.delay_s(max(failures - 1, 0), rng))


def _attempt(url: str, model: PublicModel, part: Path, progress: Progress) -> None:
    """One request, appended to the part as far as it gets."""
    have = _size(part)
    headers = {"User-Agent": "sluice", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        response = urlopen(Request(url, headers=headers), timeout=TIMEOUT_S)  # noqa: S310 (candidates() checks)
    except HTTPError as error:
        _refused(error, part)
        return
    with response:
        resumed = response.status == http.HTTPStatus.PARTIAL_CONTENT and _starts_at(response, have)
        total = _announced(response, have if resumed else 0)
        sizes = [build.size_bytes for build in model.builds]
        if total is not None and total not in sizes:
            raise _NotThere(f"the file there has {total} bytes, expected {sizes[0]}")
        _copy(response, part, have if resumed else 0, total or max(sizes), progress)


def _copy(response: http.client.HTTPResponse, part: Path, have: int, total: int, progress: Progress) -> None:
    with part.open("ab" if have else "wb") as file:
        while have < total and (data := _read(response, min(CHUNK_BYTES, total - have))):
            file.write(data)
            have += len(data)
            progress(have, total)


def _read(response: http.client.HTTPResponse, size: int) -> bytes:
    """So that trouble with the network is not taken for trouble with the disk."""
    try:
        return response.read(size)
    except OSError as error:
        raise URLError(error) from error


def _refused(error: HTTPError, part: Path) -> None:
    """A part that the server cannot go on with is dropped; a server in trouble is asked again; else: not there."""
    with error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink(missing_ok=True)
            return
        if error.code >= http.HTTPStatus.INTERNAL_SERVER_ERROR or error.code == http.HTTPStatus.TOO_MANY_REQUESTS:
            raise URLError(f"HTTP {error.code} {error.reason}")
        raise _NotThere(f"HTTP {error.code} {error.reason}")


def _starts_at(response: http.client.HTTPResponse, have: int) -> bool:
    return response.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def _announced(response: http.client.HTTPResponse, have: int) -> int | None:
    length = response.headers.get("Content-Length", "")
    return have + int(length) if length.isdigit() else None


def _accepted(model: PublicModel, part: Path) -> Build:
    """Which build the part is; ModelError, and the part is removed, where it is none."""
    build = _present(model, part)
    if build is None:
        found = file_sha256(part)
        part.unlink()
        wanted = model.builds[0].sha256
        raise ModelError(
            f"model {model.name!r}: what the server sent is another file (sha256 {found[:12]}…, "
            f"expected {wanted[:12]}…) and was removed: try again, or another --mirror"
        )
    return build


def _write_card(model: PublicModel, build: Build, folder: Path) -> None:
    model.card_for(build)  # refuse to write what could not be read
    data = model.card_data(build)
    if model.classes:
        (folder / model.classes).write_text("\n".join(model.class_names()) + "\n", encoding="utf-8")
        data["classes"] = model.classes
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)
    fresh = folder / f"{CARD_FILE}.part"
    fresh.write_text(text, encoding="utf-8")
    os.replace(fresh, folder / CARD_FILE)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _cannot_write(error: OSError, folder: Path) -> BadInput:
    if error.errno == errno.ENOSPC:
        return BadInput(f"{folder}: the disk is full; make room and run the command again to go on where it stopped")
    return BadInput(f"{folder}: cannot be written ({error.strerror or error})")
