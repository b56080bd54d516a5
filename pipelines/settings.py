"""Settings from environment variables. Only this module reads them; everything else is handed values.

| variable | meaning |
|---|---|
| ``SLUICE_BROKER`` | the broker where ``--broker`` is not given: ``kafka://host:port[,host:port…]`` |
| ``SLUICE_MODELS`` | directories of models beside those given by ``--models``, joined by ``:`` |
| ``SLUICE_CACHE`` | where variants of models and their profiles lie, in place of the user's cache |
| ``SLUICE_MODEL_MEMORY`` | what loaded models may take together, as ``2GiB``; without it they all stay loaded |
| ``SLUICE_DECODED_MEMORY`` | what decoded frames may take together, as ``2GiB``; default: a quarter of the memory |
| ``SLUICE_MODEL_TIMEOUT`` | seconds that a network may take for a batch (default 60), or a third of a load |
| ``SLUICE_DEVICE`` | what runs networks: ``auto`` (a GPU if one can be used, default), ``cpu``, ``cuda``, ``cuda:1`` |
| ``SLUICE_HWACCEL`` | what decodes video: ``none`` (software, default), ``auto``, or a device, as ``cuda`` |
| ``SLUICE_MAX_STREAMS`` | streams whose state a worker holds; default: one for each 32 MiB of the memory |
| ``SLUICE_SILENT_STREAM_S`` | seconds without a frame after which a worker may drop a stream's state (3600) |
| ``SLUICE_STALLED_END_S`` | seconds for which a worker may be stalled before it ends with status 1 (300); ``never`` |
| ``SLUICE_METRICS_STREAMS`` | streams with metrics of their own (200); further ones share the series without a name |
| ``SLUICE_SERVE_SECRET`` | token, or password, that readers of the page and of metrics must give |
| ``SLUICE_KAFKA_SECURITY_PROTOCOL`` | ``PLAINTEXT`` (default), ``SSL``, ``SASL_PLAINTEXT``, ``SASL_SSL`` |
| ``SLUICE_KAFKA_SASL_MECHANISM`` | ``PLAIN`` (default), ``SCRAM-SHA-256``, ``SCRAM-SHA-512`` |
| ``SLUICE_KAFKA_USERNAME``, ``SLUICE_KAFKA_PASSWORD`` | for SASL |
| ``SLUICE_KAFKA_CAFILE`` | certificates to trust (PEM) in place of the system's |
| ``SLUICE_KAFKA_CERTFILE``, ``SLUICE_KAFKA_KEYFILE`` | this client's certificate and key (PEM) |
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from os.path import isfile
from pathlib import Path
from typing import Any

from operators.capture.sources.hardware import HWACCELS, SOFTWARE
from pipelines.process.heap import machine_memory_bytes
from serving.common.precision import DEVICES, Device
from serving.common.redaction import SURE, hide
from serving.errors import BadInput
from serving.scheduling.limits import BATCH_S

DEFAULT_PORT = 9092
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
DECODED_SHARE = 4
"""Decoded frames get the memory divided by this."""
BYTES_PER_STREAM = 32 << 20
"""More than the state of a stream takes, several times over."""
LEAST_STREAMS = 64
METRICS_STREAMS = 200
STALLED_END_S = 300.0
UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True, slots=True)
class StreamBounds:
    """How many streams are held, and for how long without a frame."""

    max_streams: int = 1000
    silent_s: float = 3600.0


@dataclass(frozen=True)
class BrokerSettings:
    """Where the broker is and how to speak to it. The password shows in no ``repr``."""

    servers: tuple[str, ...]
    """Each ``host:port``."""
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    cafile: Path | None = None
    certfile: Path | None = None
    keyfile: Path | None = None

    def __post_init__(self) -> None:
        hide(self.password, f"\0{self.username}\0{self.password}" if self.password else None)
        if self.keyfile is not None:
            hide(*_key_lines(self.keyfile))

    @property
    def url(self) -> str:
        """``kafka://host:port,host:port``, without credentials: fit for messages and logs."""
        return "kafka://" + ",".join(self.servers)

    @property
    def uses_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")


def broker_settings(url: str | None = None, environ: Mapping[str, str] = os.environ) -> BrokerSettings:
    """The broker named by ``url``, else by ``SLUICE_BROKER``; raises ``BadInput`` where it is missing or misspelt."""
    url = url or environ.get("SLUICE_BROKER")
    if not url:
        raise BadInput("no broker given: use --broker kafka://HOST:PORT or set SLUICE_BROKER")
    servers = parse_servers(url)
    protocol = _choice(environ, "SLUICE_KAFKA_SECURITY_PROTOCOL", PROTOCOLS, "PLAINTEXT")
    settings = BrokerSettings(
        servers=servers,
        security_protocol=protocol,
        cafile=_file(environ, "SLUICE_KAFKA_CAFILE"),
        certfile=_file(environ, "SLUICE_KAFKA_CERTFILE"),
        keyfile=_file(environ, "SLUICE_KAFKA_KEYFILE"),
        **_sasl(environ, protocol),
    )
    if settings.cafile is not None and not settings.uses_tls:
        raise BadInput("SLUICE_KAFKA_CAFILE is set, but SLUICE_KAFKA_SECURITY_PROTOCOL is not SSL or SASL_SSL")
    return settings


def is_broker_set(environ: Mapping[str, str] = os.environ) -> bool:
    return bool(environ.get("SLUICE_BROKER"))


def model_dirs(environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The directories of ``SLUICE_MODELS``, in order."""
    return [Path(part) for part in environ.get("SLUICE_MODELS", "").split(os.pathsep) if part]


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The directory of ``SLUICE_CACHE``; None where it is not set."""
    given = environ.get("SLUICE_CACHE")
    return Path(given) if given else None


def model_memory(environ: Mapping[str, str] = os.environ) -> int | None:
    """The bytes of ``SLUICE_MODEL_MEMORY``, None where it is not set; raises ``BadInput``."""
    return _bytes(environ, "SLUICE_MODEL_MEMORY")


def decoded_memory(environ: Mapping[str, str] = os.environ) -> int:
    """The bytes of ``SLUICE_DECODED_MEMORY``, else a share of what this process may have; raises ``BadInput``."""
    return _bytes(environ, "SLUICE_DECODED_MEMORY") or machine_memory_bytes() // DECODED_SHARE


def model_timeout_s(environ: Mapping[str, str] = os.environ) -> float:
    """The longest that a network may take for a batch, from ``SLUICE_MODEL_TIMEOUT``; raises ``BadInput``."""
    given = environ.get("SLUICE_MODEL_TIMEOUT")
    if not given:
        return BATCH_S
    match = re.fullmatch(r"(?P<seconds>\d{1,6}(\.\d+)?) ?s?", given.strip())
    if match is None or float(match["seconds"]) == 0:
        raise BadInput(f"SLUICE_MODEL_TIMEOUT is {given!r}: give a number of seconds above 0, such as 60")
    return float(match["seconds"])


def device(environ: Mapping[str, str] = os.environ) -> tuple[Device, int]:
    """The device that runs networks and the index of the GPU, from ``SLUICE_DEVICE``; raises ``BadInput``.

    >>> device({}), device({"SLUICE_DEVICE": "cuda:1"})
    (('auto', 0), ('cuda', 1))
    """
    gpu = re.fullmatch(r"cuda:([0-9]{1,2})", environ.get("SLUICE_DEVICE", "").strip())
    if gpu is not None:
        return "cuda", int(gpu[1])
    wanted = _choice(environ, "SLUICE_DEVICE", DEVICES, "auto")
    return next(each for each in DEVICES if each == wanted), 0


def hwaccel(environ: Mapping[str, str] = os.environ) -> str:
    """The decoder of video, from ``SLUICE_HWACCEL``: one of ``HWACCELS``; raises ``BadInput``."""
    return _choice(environ, "SLUICE_HWACCEL", HWACCELS, SOFTWARE)


def metrics_streams(environ: Mapping[str, str] = os.environ) -> int:
    """How many streams have metrics of their own; raises ``BadInput``."""
    return int(_positive(environ, "SLUICE_METRICS_STREAMS", r"[1-9]\d{0,5}")) or METRICS_STREAMS


def stalled_end_s(environ: Mapping[str, str] = os.environ) -> float:
    """How long a worker may be stalled before it ends, infinite for ``never``; raises ``BadInput``."""
    if environ.get("SLUICE_STALLED_END_S", "").strip() == "never":
        return inf
    return _positive(environ, "SLUICE_STALLED_END_S", r"[1-9]\d{0,8}(\.\d+)?") or STALLED_END_S


def serve_secret(environ: Mapping[str, str] = os.environ) -> str | None:
    """The secret of ``SLUICE_SERVE_SECRET``; None where it is not set."""
    return environ.get("SLUICE_SERVE_SECRET") or None


def variable(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """A variable that the user's file of sinks names; None where it is not set or empty."""
    return environ.get(name) or None


def first_line(file: Path, said: str, most: int) -> str:
    """The first line of a file with a secret, so many characters of it; raises BadInput, which begins with ``said``."""
    try:
        with file.open(encoding="utf-8") as lines:
            return lines.readline(most).rstrip("\r\n")
    except OSError as error:
        raise BadInput(f"{said}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{said}: it is no text in UTF-8") from None


def parse_servers(url: str) -> tuple[str, ...]:
    """``kafka://h:p,h2:p`` or ``h:p,h2`` as ``host:port`` each; raises ``BadInput``."""
    if "@" in url:
        raise BadInput(
            "a broker's address must not carry credentials: set SLUICE_KAFKA_USERNAME and SLUICE_KAFKA_PASSWORD"
        )
    scheme, separator, servers = url.rpartition("://")
    if separator and scheme != "kafka":
        raise BadInput(f"broker {url!r}: only kafka://HOST:PORT[,HOST:PORT…] is known here")
    return tuple(_server(part, url) for part in servers.split(","))


def _server(part: str, url: str) -> str:
    match = re.fullmatch(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:(?P<port>[0-9]{1,5}))?/?", part.strip())
    if match is None or int(match["port"] or DEFAULT_PORT) not in range(1, 65_536):
        raise BadInput(f"broker {url!r}: {part!r} is not HOST:PORT")
    return f"{match['host']}:{match['port'] or DEFAULT_PORT}"


def _key_lines(keyfile: Path) -> list[str]:
    """The secret lines of a private key; none where the file cannot be read, which TLS will say."""
    try:
        lines = keyfile.read_text(errors="replace").split()
    except OSError:
        return []
    return [line for line in lines if len(line) >= SURE and "---" not in line]


def _sasl(environ: Mapping[str, str], protocol: str) -> dict[str, Any]:
    username, password = environ.get("SLUICE_KAFKA_USERNAME"), environ.get("SLUICE_KAFKA_PASSWORD")
    if not protocol.startswith("SASL"):
        if username or password:
            raise BadInput(
                "SLUICE_KAFKA_USERNAME or _PASSWORD is set, but SLUICE_KAFKA_SECURITY_PROTOCOL is not SASL_*"
            )
        return {}
    if not username or not password:
        raise BadInput(f"{protocol} needs SLUICE_KAFKA_USERNAME and SLUICE_KAFKA_PASSWORD")
    mechanism = _choice(environ, "SLUICE_KAFKA_SASL_MECHANISM", MECHANISMS, "PLAIN")
    return {"sasl_mechanism": mechanism, "username": username, "password": password}


def stream_bounds(environ: Mapping[str, str] = os.environ) -> StreamBounds:
    """How many streams a worker holds the state of, and for how long; raises ``BadInput``."""
    return StreamBounds(
        int(_positive(environ, "SLUICE_MAX_STREAMS", r"[1-9]\d{0,8}"))
        or max(LEAST_STREAMS, machine_memory_bytes() // BYTES_PER_STREAM),
        _positive(environ, "SLUICE_SILENT_STREAM_S", r"[1-9]\d{0,8}(\.\d+)?") or StreamBounds().silent_s,
    )


def _positive(environ: Mapping[str, str], name: str, pattern: str) -> float:
    """0 where it is not set."""
    given = environ.get(name, "").strip()
    if given and not re.fullmatch(pattern, given):
        raise BadInput(f"{name} is {given!r}: give a number of at least 1")
    return float(given or 0)


def _bytes(environ: Mapping[str, str], name: str) -> int | None:
    given = environ.get(name)
    if not given:
        return None
    match = re.fullmatch(r"(?P<number>[0-9]{1,9}(\.[0-9]+)?) ?(?P<unit>[MG]iB)", given.strip())
    size_bytes = int(float(match["number"]) * UNITS[match["unit"]]) if match else 0
    if not size_bytes:
        raise BadInput(f"{name} is {given!r}: give a size such as 512MiB or 2GiB")
    return size_bytes


def _choice(environ: Mapping[str, str], name: str, allowed: tuple[str, ...], default: str) -> str:
    value = environ.get(name, "").strip() or default
    if value not in allowed:
        raise BadInput(f"{name} is {value!r}: allowed are {', '.join(allowed)}")
    return value


def _file(environ: Mapping[str, str], name: str) -> Path | None:
    value = environ.get(name)
    if not value:
        return None
    if not isfile(value):  # False for what is no name of a file at all, where Path.is_file() raises
        raise BadInput(f"{name}: no file {value}")
    return Path(value)
