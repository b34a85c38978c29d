"""How one attempt goes over the wire. The standard library's HTTP client, one connection for each attempt, and no redirects."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Protocol
from urllib.parse import urlsplit

from .request import Request, invalid

#: The longest body of an answer that is read, in bytes. A longer one counts as lost.
REPLY_BYTES_MAX = 16 * 1024 * 1024


class NotSent(Exception):
    """Nothing of the request can have reached the server."""


class Lost(Exception):
    """No whole answer came. The server may have seen the request."""


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    #: Names in lower case.
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first line of a name (in lower case)."""
        return next((value for line, value in self.headers if line == name), None)


class _WholeHead(http.client.HTTPResponse):
    """Refuses a head that ends before its empty line, which the standard library takes for a whole one."""

    def begin(self) -> None:
        whole = self.fp
        lines = _Lines(whole)
        self.fp = lines  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            if self.fp is not None:
                self.fp = whole
        if lines.last not in (b"\r\n", b"\n"):
            raise http.client.IncompleteRead(b"")


class _Lines:
    """A file of which the last line that was read is known."""

    def __init__(self, file: BufferedIOBase) -> None:
        self._file = file
        self.last = b""

    def readline(self, limit: int = -1) -> bytes:
        self.last = self._file.readline(limit)
        return self.last

    def close(self) -> None:
        self._file.close()


class Transport(Protocol):
    """Sends one attempt and waits for its whole answer. Raises :class:`NotSent` or :class:`Lost`, and retries nothing."""

    def __call__(self, request: Request, headers: Mapping[str, str], timeout_ms: int) -> Reply: ...


class HttpTransport:
    """HTTP/1.1 to one server, over TLS if its address begins with ``https``."""

    def __init__(self, base_url: str, tls: ssl.SSLContext | None = None) -> None:
        wrong = invalid(f"the address {base_url!r} is not of the form http://host:port or https://host")
        try:
            parts = urlsplit(base_url)
            port = parts.port
        except ValueError as error:
            raise wrong from error
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise wrong
        self._host, self._port, self._prefix = parts.hostname, port, parts.path.rstrip("/")
        self._tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None

    def __call__(self, request: Request, headers: Mapping[str, str], timeout_ms: int) -> Reply:
        end_s = time.monotonic() + timeout_ms / 1_000
        if self._tls is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout_ms / 1_000)
        else:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout_ms / 1_000, context=self._tls)
        try:
            try:
                connection.connect()
            except (OSError, UnicodeError) as error:
                raise NotSent(str(error)) from error
            return self._exchange(connection, request, headers, end_s - time.monotonic())
        finally:
            connection.close()

    def _exchange(self, connection: http.client.HTTPConnection, request: Request, headers: Mapping[str, str], left_s: float) -> Reply:
        # The socket's own timeout bounds each wait; a server that sends a byte now and then would go on for ever.
        late = threading.Event()
        connection.response_class = _WholeHead
        alarm = threading.Timer(max(left_s, 0.001), _cut, [connection.sock, late])
        alarm.daemon = True
        alarm.start()
        try:
            connection.request(request.method, self._prefix + request.path, body=request.body, headers=dict(headers))
            response = connection.getresponse()
            body = response.read(REPLY_BYTES_MAX + 1)
        except (OSError, http.client.HTTPException) as error:
            raise Lost(str(error) or type(error).__name__) from error
        finally:
            alarm.cancel()
        # `read` with a bound does not say by itself that a body ended too soon.
        if late.is_set() or response.length or len(body) > REPLY_BYTES_MAX:
            raise Lost("the answer was cut short, came too late, or is longer than is read")
        return Reply(response.status, tuple((name.lower(), value) for name, value in response.getheaders()), body)


def _cut(sock: socket.socket, late: threading.Event) -> None:
    late.set()
    # It may have ended by itself.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
