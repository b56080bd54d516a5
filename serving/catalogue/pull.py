"""Fetches a public model: accepts only the exact content, and replaces files only when whole."""

from __future__ import annotations

import errno
import http.client
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import yaml

from serving.catalogue.cards import CARD_FILE
from serving.catalogue.lookup import file_sha256
from serving.catalogue.public import Build, PublicModel
from serving.common.retrying import Backoff, Persistence, retry
from serving.errors import BadInput, ModelError, Unavailable

CHUNK_BYTES = 1 << 18
TIMEOUT_S = 30.0
PERSISTENCE = Persistence(Backoff(first_s=0.5, max_s=4.0), attempts=5)
HEADERS = {"User-Agent": "sluice", "Accept-Encoding": "identity"}
_TROUBLE = (URLError, http.client.HTTPException, TimeoutError, ConnectionError)

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
    Raises Unavailable where no server has it or the connection stays broken, ModelError for wrong content, BadInput
    where the folder cannot be written.
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
    """One of the builds as the part, from the first URL that has it: others are tried where one is of no use."""
    reasons, wrong = list[str](), None
    for url in urls:
        try:
            retry(partial(_attempt, url, model, part, progress), _TROUBLE, PERSISTENCE, lambda *_: None, sleep)
            return _accepted(model, part)
        except _NotThere as absent:
            reasons.append(f"{url}: {absent.reason}")
        except _TROUBLE as error:
            why = str(getattr(error, "reason", "") or error or type(error).__name__)
            reasons.append(f"{url}: {why}, {PERSISTENCE.attempts} times")
        except ModelError as error:
            wrong = wrong or error
    by_hand = f"else put the file at {part.with_suffix('')} and pull again, or give --mirror"
    raise wrong or Unavailable(f"model {model.name!r} cannot be fetched: {'; '.join(reasons)}: {by_hand}")


def _attempt(url: str, model: PublicModel, part: Path, progress: Progress) -> None:
    """One request for the whole file."""
    sizes = [build.size_bytes for build in model.builds]
    try:
        response = urlopen(Request(url, headers=HEADERS), timeout=TIMEOUT_S)  # noqa: S310 (candidates() checks)
    except HTTPError as error:
        raise _refused(error) from None
    with response, part.open("wb") as file:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else max(sizes)
        if total not in sizes:
            raise _NotThere(f"the file there has {total} bytes, expected {sizes[0]}")
        have = 0
        while have < total and (data := _read(response, min(CHUNK_BYTES, total - have))):
            file.write(data)
            have += len(data)
            progress(have, total)
    if have not in sizes:
        raise URLError("the connection was cut")


def _read(response: http.client.HTTPResponse, size: int) -> bytes:
    """So that trouble with the network is not taken for trouble with the disk."""
    try:
        return response.read(size)
    except OSError as error:
        raise URLError(error) from error


def _refused(error: HTTPError) -> Exception:
    """A server in trouble is asked again; else the file is not there."""
    with error:
        said = f"HTTP {error.code} {error.reason}"
        if error.code >= http.HTTPStatus.INTERNAL_SERVER_ERROR or error.code == http.HTTPStatus.TOO_MANY_REQUESTS:
            return URLError(said)
        return _NotThere(said)


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


def _cannot_write(error: OSError, folder: Path) -> BadInput:
    if error.errno == errno.ENOSPC:
        return BadInput(f"{folder}: the disk is full; make room and run the command again")
    return BadInput(f"{folder}: cannot be written ({error.strerror or error})")
