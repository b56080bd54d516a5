"""Knocks at a broker's servers and sees what they say, since the libraries hide it behind a time-out.

A few requests of Kafka's protocol over a socket of our own; the user's password leaves it only inside TLS where TLS is
configured, and only to what answered as a Kafka broker. The mechanisms of SASL are kafka-python's.
"""

from __future__ import annotations

import socket
import ssl
import struct
from contextlib import closing
from dataclasses import dataclass

from pipelines.kafka.options import client_options, tls_context
from pipelines.kafka.verdict import Seen, Verdict, tls_trouble, verdict
from pipelines.settings import BrokerSettings

TIMEOUT_S = 3.0
LONGEST_BYTES = 1 << 20

METADATA, HANDSHAKE, AUTHENTICATE = (3, 5), (17, 1), (36, 0)
"""Numbers and versions of requests that every broker since Kafka 1.0 answers."""
NO_TOPICS = struct.pack(">ib", 0, 0)
MECHANISM_UNKNOWN, NOT_EXPECTED = 33, 34


class NoAnswer(Exception):
    """The server closed the connection, said nothing in time, or speaks another protocol."""


def knock(settings: BrokerSettings, timeout_s: float = TIMEOUT_S) -> Verdict | None:
    """Why no server lets us in; None where one does. Takes a few ``timeout_s`` per server at the worst."""
    if settings.uses_tls:
        tls_context(settings)  # raises for files that cannot be used
    return verdict(settings, [look(server, settings, timeout_s) for server in settings.servers])


def look(server: str, settings: BrokerSettings, timeout_s: float) -> Seen:
    """Try to enter one server, ``host:port``."""
    try:
        with closing(_connected(server, timeout_s)) as raw:
            return _entered(raw, server, settings, timeout_s)
    except OSError as error:
        return Seen("absent", f"{server}: {error.strerror or error}")
    except NoAnswer as error:
        return Seen("absent", f"{server}: {error}")


def _entered(raw: socket.socket, server: str, settings: BrokerSettings, timeout_s: float) -> Seen:
    try:
        with _wrapped(raw, server, settings) as connection:
            line = _Line(connection)
            if settings.sasl_mechanism is not None:
                return _logged_in(line, settings)
            line.ask(METADATA, NO_TOPICS)
            return Seen("ready")
    except (OSError, NoAnswer) as error:
        return tls_trouble(error) or _other_language(server, settings, timeout_s) or _absent(server, error)


def _logged_in(line: _Line, settings: BrokerSettings) -> Seen:
    from kafka.net.sasl import get_sasl_mechanism  # all of the client: not for a server that is away

    assert settings.sasl_mechanism is not None
    code, known = _handshake(line, settings.sasl_mechanism)
    if code == NOT_EXPECTED:
        return Seen("no_user")
    if code == MECHANISM_UNKNOWN or settings.sasl_mechanism not in known:
        return Seen("mechanism", ", ".join(known) or "it lists none")
    mechanism = get_sasl_mechanism(settings.sasl_mechanism)(host="", **client_options(settings))
    while not mechanism.is_done():
        token: bytes = mechanism.auth_bytes()
        answer = line.ask(AUTHENTICATE, struct.pack(">i", len(token)) + token)
        (code,) = struct.unpack_from(">h", answer)
        if code != 0:
            return Seen("credentials")
        mechanism.receive(_token(answer))
    return Seen("ready") if mechanism.is_authenticated() else Seen("credentials")


def _other_language(server: str, settings: BrokerSettings, timeout_s: float) -> Seen | None:
    """Whether a server that did not answer would do so otherwise: without TLS, with TLS, or to a user."""
    if settings.uses_tls and _answers_plainly(server, timeout_s):
        return Seen("no_tls")
    if not settings.uses_tls and _speaks_tls(server, timeout_s):
        return Seen("wants_tls")
    if settings.sasl_mechanism is None and _wants_user(server, settings, timeout_s):
        return Seen("wants_user")
    return None


def _answers_plainly(server: str, timeout_s: float) -> bool:
    try:
        with closing(_connected(server, timeout_s)) as raw:
            _handshake(_Line(raw), "PLAIN")
    except (OSError, NoAnswer):
        return False
    return True


def _speaks_tls(server: str, timeout_s: float) -> bool:
    """Nothing is sent inside, so whom we talk to does not matter."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with closing(_connected(server, timeout_s)) as raw, context.wrap_socket(raw):
            return True
    except OSError as error:
        trouble = tls_trouble(error)
        return trouble is not None and trouble.fact == "tls"


def _wants_user(server: str, settings: BrokerSettings, timeout_s: float) -> bool:
    try:
        with closing(_connected(server, timeout_s)) as raw, _wrapped(raw, server, settings) as connection:
            code, _ = _handshake(_Line(connection), "PLAIN")
    except (OSError, NoAnswer):
        return False
    return code in (0, MECHANISM_UNKNOWN)


def _handshake(line: _Line, mechanism: str) -> tuple[int, list[str]]:
    """The broker's error code and the mechanisms that it knows."""
    answer = line.ask(HANDSHAKE, _text(mechanism))
    try:
        code, count = struct.unpack_from(">hi", answer)
        known, offset = [], 6
        for _ in range(min(count, 100)):
            (length,) = struct.unpack_from(">h", answer, offset)
            known.append(answer[offset + 2 : offset + 2 + length].decode())
            offset += 2 + length
    except (struct.error, UnicodeDecodeError):
        raise NoAnswer("it does not answer as a Kafka broker does") from None
    return code, known


def _token(answer: bytes) -> bytes:
    """What the mechanism gets of an answer to AUTHENTICATE: after the code and a message, bytes with their length."""
    (message,) = struct.unpack_from(">h", answer, 2)
    start = 4 + max(message, 0)
    (length,) = struct.unpack_from(">i", answer, start)
    return answer[start + 4 : start + 4 + max(length, 0)]


@dataclass
class _Line:
    """A connection on which one question is asked at a time."""

    connection: socket.socket
    asked: int = 0

    def ask(self, what: tuple[int, int], body: bytes) -> bytes:
        """The answer's body; raises ``NoAnswer`` or OSError."""
        self.asked += 1
        request = struct.pack(">hhi", *what, self.asked) + _text("sluice") + body
        self.connection.sendall(struct.pack(">i", len(request)) + request)
        (length,) = struct.unpack(">i", self._read(4))
        if not 4 <= length <= LONGEST_BYTES:
            raise NoAnswer("it does not answer as a Kafka broker does")
        answer = self._read(length)
        if struct.unpack_from(">i", answer) != (self.asked,):
            raise NoAnswer("it does not answer as a Kafka broker does")
        return answer[4:]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.connection.recv(size - len(data))
            if not more:
                raise NoAnswer("it closed the connection")
            data += more
        return data


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _connected(server: str, timeout_s: float) -> socket.socket:
    return socket.create_connection(_address(server), timeout_s)


def _wrapped(raw: socket.socket, server: str, settings: BrokerSettings) -> socket.socket:
    """The connection as it is configured: with TLS, a socket of its own."""
    return tls_context(settings).wrap_socket(raw, server_hostname=_address(server)[0]) if settings.uses_tls else raw


def _address(server: str) -> tuple[str, int]:
    host, _, port = server.rpartition(":")
    return host.strip("[]"), int(port)


def _absent(server: str, error: Exception) -> Seen:
    words = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return Seen("absent", f"{server}: {words}")
