"""The transport on real sockets: what it tells apart, and what bounds it."""

from __future__ import annotations

import contextlib
import socket
import threading
import unittest
from collections.abc import Iterator
from typing import Callable

from nevertwice_client import ClientError, HttpTransport, Lost, NotSent
from nevertwice_client import transport as module
from nevertwice_client.request import Request

REQUEST = Request("POST", "/x?y=1", (("principal", "ann"),), b'{"a":1}')
LINES = {"principal": "ann", "idempotency-key": "k"}


@contextlib.contextmanager
def peer(answer: Callable[[socket.socket, bytes], None]) -> Iterator[str]:
    """A server that reads one request, and answers with whatever it likes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            with client:
                client.settimeout(20)
                got = b""
                while not got.endswith(b'{"a":1}'):
                    got += client.recv(4_096)
                with contextlib.suppress(OSError):
                    answer(client, got)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(20)


def sends(text: bytes) -> Callable[[socket.socket, bytes], None]:
    return lambda client, _: client.sendall(text)


def waits(client: socket.socket, _: bytes) -> None:
    client.recv(1)


class Wire(unittest.TestCase):
    def lost(self, answer: Callable[[socket.socket, bytes], None], timeout_ms: int = 20_000) -> None:
        with peer(answer) as url, self.assertRaises(Lost):
            HttpTransport(url)(REQUEST, LINES, timeout_ms)

    def test_a_whole_answer_comes_with_its_headers(self) -> None:
        seen = []

        def answer(client: socket.socket, got: bytes) -> None:
            seen.append(got)
            client.sendall(b"HTTP/1.1 303 See Other\r\nRetry-After: 3\r\nLocation: /y\r\nContent-Length: 2\r\n\r\nok")

        with peer(answer) as url:
            reply = HttpTransport(url + "/api/")(REQUEST, LINES, 20_000)
        self.assertEqual((reply.status, reply.body, reply.header("retry-after"), reply.header("none")), (303, b"ok", "3", None))
        head = seen[0].split(b"\r\n\r\n")[0]
        self.assertTrue(head.startswith(b"POST /api/x?y=1 HTTP/1.1\r\n"), head)
        for line in (b"idempotency-key: k", b"principal: ann", b"Content-Length: 7"):
            self.assertEqual(head.count(line), 1, head)

    def test_an_answer_in_chunks_is_read(self) -> None:
        text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        with peer(sends(text)) as url:
            self.assertEqual(HttpTransport(url)(REQUEST, LINES, 20_000).body, b"ok")

    def test_a_refused_connection_was_not_sent(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with self.assertRaises(NotSent):
            HttpTransport(url)(REQUEST, LINES, 20_000)

    def test_what_breaks_off_is_lost(self) -> None:
        for text in (
            b"",
            b"HTTP/1.1 200",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf",
            b"no http at all\r\n\r\n",
        ):
            with self.subTest(text):
                self.lost(sends(text))

    def test_an_answer_that_never_comes_is_lost_in_time(self) -> None:
        self.lost(waits, timeout_ms=50)

    def test_an_answer_that_trickles_is_lost_in_time(self) -> None:
        """Each byte comes well within the socket's own timeout."""

        def trickle(client: socket.socket, _: bytes) -> None:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            client.settimeout(0.01)
            while True:
                client.sendall(b".")
                try:
                    if not client.recv(1):
                        return
                except socket.timeout:
                    pass

        self.lost(trickle, timeout_ms=100)

    def test_an_answer_that_is_too_long_is_lost(self) -> None:
        self.addCleanup(setattr, module, "REPLY_BYTES_MAX", module.REPLY_BYTES_MAX)
        module.REPLY_BYTES_MAX = 3
        self.lost(sends(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlong"))

    def test_an_address_that_is_none_is_refused(self) -> None:
        for url in (
            "",
            "127.0.0.1:80",
            "ftp://a",
            "http://",
            "http://a?b",
            "http://a#b",
            "http://user@a",
            "http://a:99999",
            "http://a:x",
            "http://[::1",
        ):
            with self.assertRaises(ClientError) as caught:
                HttpTransport(url)
            self.assertEqual(caught.exception.code, "request_invalid")
