"""Makes the sinks that a file names: reads their secrets and certificates."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from pipelines.observe.forward.mqtt_topics import Announced, Topics
from pipelines.observe.forward.sink import Sink
from pipelines.observe.forward.sinks_file import (
    KINDS,
    MqttSpec,
    OwnSinkSpec,
    SinksFile,
    SinkSpec,
    WebhookSpec,
    webhook_url,
)
from pipelines.observe.web.listen import LEAST_SECRET
from pipelines.query.secret_places import SecretPlace, read_secret
from serving.common.redaction import hide
from serving.errors import BadInput

log = logging.getLogger(__name__)

PORTS = {"mqtt": 1883, "mqtts": 8883}


def open_sinks(file: SinksFile, path: Path) -> list[tuple[SinkSpec, Sink]]:
    """The sinks with what the file says of them; raises BadInput. Relative paths begin at the folder of ``path``."""
    return [(spec, _open(spec, path.parent, f"{path}: sinks[{number}]")) for number, spec in enumerate(file.sinks)]


def _open(spec: MqttSpec | WebhookSpec | OwnSinkSpec, folder: Path, key: str) -> Sink:
    if isinstance(spec, OwnSinkSpec):
        sink: Sink = spec.make(key, name=spec.name)
        return sink
    tls = _trusted(spec.cafile, folder, key)
    return _mqtt(spec, folder, key, tls) if isinstance(spec, MqttSpec) else _webhook(spec, folder, key, tls)


def _mqtt(spec: MqttSpec, folder: Path, key: str, tls: ssl.SSLContext) -> Sink:
    from pipelines.observe.forward.mqtt_connection import MqttBroker  # paho's client, which webhooks do without
    from pipelines.observe.forward.mqtt_sink import MqttSink

    url = urlsplit(spec.url)
    password = None if spec.password is None else read_secret(spec.password, folder, f"{key}.password")
    if password is not None and url.scheme == "mqtt":
        log.warning("sink %s: the password travels without encryption: mqtts:// encrypts it", spec.name)
    broker = MqttBroker(
        str(url.hostname),
        url.port or PORTS[url.scheme],
        spec.username,
        password,
        tls if url.scheme == "mqtts" else None,
    )
    kinds = spec.kinds or KINDS
    announced = Announced(spec.home_assistant, kinds, spec.snapshot is not None) if spec.home_assistant else None
    return MqttSink(spec.name, broker, Topics(spec.topic_prefix), announced)


def _webhook(spec: WebhookSpec, folder: Path, key: str, tls: ssl.SSLContext) -> Sink:
    from pipelines.observe.forward.webhook import Endpoint, WebhookSink  # aiohttp, which MQTT does without

    secret = None if spec.secret is None else read_secret(spec.secret, folder, f"{key}.secret")
    if secret is not None and len(secret) < LEAST_SECRET:
        raise BadInput(f"{key}.secret: give at least {LEAST_SECRET} characters, as `openssl rand -hex 16` prints them")
    url = spec.url
    if isinstance(url, SecretPlace):
        url = read_secret(url, folder, f"{key}.url")
        try:
            webhook_url(url)
        except ValueError as error:
            raise BadInput(f"{key}.url: {error}") from None
        hide(urlsplit(url).path.strip("/"))
    return WebhookSink(Endpoint(url, secret, spec.timeout_s, tls))


def _trusted(cafile: Path | None, folder: Path, key: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if cafile is None else folder / cafile)
    except OSError as error:  # ssl.SSLError is one
        raise BadInput(f"{key}.cafile: cannot use {cafile}: {error.strerror or error}") from None
