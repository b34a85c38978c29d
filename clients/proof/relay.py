"""A relay between a client and the server that loses, cuts, withholds and repeats what goes through it. For real, on sockets.

Which fault strikes is not drawn but counted off, exchange by exchange, so that each kind strikes in every run.
"""

from __future__ import annotations

import collections
import contextlib
import socket
import struct
import threading
from collections import Counter

#: The longest message that is passed on, in bytes.
MESSAGE_BYTES_MAX = 1024 * 1024
#: How long any one step on a socket may take before the test has failed, in seconds.
PATIENCE_S = 20.0

#: In the order in which they strike. The first seven lose something; a client that meets them all in a row still gets through.
FAULTS = (
    "drop_reply",  # the server has done it, and the reply is lost
    "pass",
    "cut_reply",  # half of the reply comes
    "close_unread",  # the connection is closed before the request was read
    "pass",
    "lose_request",  # the request is read and never passed on
    "withhold_reply",  # the server has done it, and nothing comes until the client gives up
    "pass",
    "reset_reply",  # the server has done it, and the connection is reset
    "late_request",  # the client hears nothing, and its request reaches the server after a later one has been answered
    "pass",
    "pass",
)
#: Where the server has done its work and the client does not hear of it.
AFTER_THE_WORK = ("drop_reply", "cut_reply", "withhold_reply", "reset_reply")


class Relay:
    """Listens on a free port of the loopback address, and speaks to the server behind."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self._guard = threading.Lock()
        self._exchanges = 0
        self._late: list[bytes] = []
        self.struck: Counter[str] = collections.Counter()
        self.failures: list[str] = []
        self.enough = threading.Event()
        self.enough_after: int | None = None
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Delivers what is still late, and listens no longer."""
        self.deliver_late()
        # Not every system lets a listening socket be shut down.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(PATIENCE_S)

    def deliver_late(self) -> None:
        """Passes on the requests that their clients have long given up."""
        with self._guard:
            late, self._late = self._late, []
        for request in late:
            self._ask(request)
            self.struck["late_arrival"] += 1

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(PATIENCE_S)
        with client:
            try:
                while self._exchange(client):
                    pass
            except (OSError, EOFError):
                pass  # The client has gone; that is its right.

    def _exchange(self, client: socket.socket) -> bool:
        """One request and what becomes of it. Whether the connection goes on."""
        first = client.recv(1)
        if not first:
            return False
        with self._guard:
            fault = FAULTS[self._exchanges % len(FAULTS)]
            self._exchanges += 1
            self.struck[fault] += 1
            if self.enough_after is not None and self._exchanges >= self.enough_after:
                self.enough.set()
        if fault == "close_unread":
            return False
        request = read_message(client, first)
        if fault == "lose_request":
            return False
        if fault == "late_request":
            with self._guard:
                self._late.append(request)
            return False
        reply = self._ask(request)
        if fault == "pass":
            client.sendall(reply)
            self.deliver_late()
            return True
        if fault == "cut_reply":
            client.sendall(reply[: len(reply) // 2])
        if fault == "withhold_reply":
            client.recv(1)  # Comes back when the client closes.
        if fault == "reset_reply":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def _ask(self, request: bytes) -> bytes:
        try:
            with socket.create_connection(self._server, timeout=PATIENCE_S) as server:
                server.sendall(request)
                return read_message(server, b"")
        except (OSError, EOFError) as error:
            self.failures.append(f"the server behind the relay: {error!r}")
            raise


def read_message(sock: socket.socket, begun: bytes) -> bytes:
    """One HTTP message whose length its head names."""
    got = bytearray(begun)
    while b"\r\n\r\n" not in got:
        _read_more(sock, got)
    head, _, body = bytes(got).partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"transfer-encoding":
            raise EOFError("a message in chunks, which this relay does not read")
        if name.lower() == b"content-length":
            length = int(value)
    while len(got) < len(head) + 4 + length:
        _read_more(sock, got)
    return bytes(got)


def _read_more(sock: socket.socket, got: bytearray) -> None:
    piece = sock.recv(65_536)
    if not piece or len(got) > MESSAGE_BYTES_MAX:
        raise EOFError("the message ends too soon, or never")
    got += piece
