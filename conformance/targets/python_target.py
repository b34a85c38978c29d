#!/usr/bin/env python3
"""The echo endpoints of the conformance suite, without a guard: something to put a guard in front of.

Only the standard library. `python3 python_target.py [--port 0]` prints where it listens, and serves until it is ended.
"""

import argparse
import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY_BYTES_MAX = 16 << 20
WITHOUT_BODY = (204, 304)


class Endpoint:
    """What one endpoint answers, and what has happened to it."""

    def __init__(self, plan):
        self.plan = plan
        self.runs = 0
        self.waiting = 0
        self.body_bytes = 0
        self.gate = threading.Event()
        self.lock = threading.Lock()

    def wait(self):
        with self.lock:
            self.waiting += 1
        self.gate.wait()
        with self.lock:
            self.waiting -= 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    endpoints = {}

    def handle_any(self):
        kind, name, rest = (self.path.split("?")[0].split("/", 3)[1:] + ["", "", ""])[:3]
        body = self.read_body()
        if body is None:
            return self.answer(413)
        if kind == "control":
            return self.control(name, rest, body)
        endpoint = self.endpoints.get(name) if kind == "echo" else None
        if endpoint is None:
            return self.answer(404)
        self.echo(endpoint, body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def read_body(self):
        """The whole body, with its length or in chunks; nothing if it is too large."""
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            length = int(self.headers.get("content-length", 0))
            return self.rfile.read(length) if length <= BODY_BYTES_MAX else None
        body = b""
        while True:
            length = int(self.rfile.readline().split(b";")[0], 16)
            if len(body) + length > BODY_BYTES_MAX:
                return None
            body += self.rfile.read(length)
            if length == 0:
                while self.rfile.readline().strip():
                    pass
                return body
            self.rfile.readline()

    def control(self, name, rest, body):
        if self.command == "PUT" and rest == "":
            self.endpoints[name] = Endpoint(json.loads(body))
            return self.answer(204)
        endpoint = self.endpoints.get(name)
        if endpoint is None:
            return self.answer(404)
        if self.command == "POST" and rest == "open":
            endpoint.gate.set()
            return self.answer(204)
        with endpoint.lock:
            figures = {"runs": endpoint.runs, "waiting": endpoint.waiting, "body_bytes": endpoint.body_bytes}
        self.answer(200, [("content-type", "application/json")], json.dumps(figures).encode())

    def echo(self, endpoint, sent):
        plan = endpoint.plan
        with endpoint.lock:
            endpoint.runs += 1
            endpoint.body_bytes = len(sent)
        if plan["gate"] == "answer":
            endpoint.wait()
        if plan["end"] == "panic":
            self.close_connection = True
            return
        body = base64.b64decode(plan["body"]) * plan["repeat"]
        between = endpoint.wait if plan["gate"] == "half" else None
        self.answer(plan["status"], plan["headers"], body, plan["chunked"], between, plan["end"] == "break")

    def answer(self, status, headers=(), body=b"", is_chunked=False, between=None, breaks=False):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        # A planned `Connection` line names headers, and ends nothing.
        self.close_connection = breaks
        has_body = status not in WITHOUT_BODY
        if has_body and is_chunked:
            self.send_header("transfer-encoding", "chunked")
        elif has_body:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        if not has_body or self.command == "HEAD":
            return
        half = len(body) // 2
        self.send(body[:half], is_chunked)
        if between is not None:
            between()
        if breaks:
            return
        self.send(body[half:], is_chunked)
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def send(self, piece, is_chunked):
        if piece and is_chunked:
            piece = b"%x\r\n%s\r\n" % (len(piece), piece)
        self.wfile.write(piece)
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        """A client that hung up is no fault."""


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=0)
    server = Server(("127.0.0.1", arguments.parse_args().port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
