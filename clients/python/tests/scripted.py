"""A network that does what a script says, and a clock that goes only when it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

from nevertwice_client import Client, Clock, Lost, NotSent, Reply, Request, Retries

TABLE: dict[str, Any] = json.loads((Path(__file__).parents[2] / "cases.json").read_text(encoding="utf-8"))


class StoppedClock(Clock):
    """Starts at the table's instant, and keeps the waits it was asked for."""

    def __init__(self) -> None:
        self.now: int = TABLE["now_ms"]
        self.waits: list[int] = []
        self.during_sleep: Callable[[], None] = lambda: None

    def now_ms(self) -> int:
        return self.now

    def elapsed_ms(self) -> int:
        return self.now

    def sleep(self, wait_ms: int, cancel: threading.Event | None) -> None:
        self.waits.append(wait_ms)
        self.now += wait_ms
        self.during_sleep()


class Script:
    """A transport that plays steps, and keeps what it was given to send."""

    def __init__(self, clock: StoppedClock, steps: Sequence[Mapping[str, Any]]) -> None:
        self._clock = clock
        self._steps = list(steps)
        self.sent: list[tuple[Request, dict[str, str]]] = []
        self.timeouts: list[int] = []

    def __call__(self, request: Request, headers: Mapping[str, str], timeout_ms: int) -> Reply:
        self.sent.append((request, dict(headers)))
        self.timeouts.append(timeout_ms)
        step = self._steps.pop(0)
        if step.get("not_sent"):
            raise NotSent("nobody listens")
        if step.get("lost"):
            raise Lost("the connection broke")
        if step.get("timeout"):
            self._clock.now += timeout_ms
            raise Lost("no answer in time")
        return Reply(step["status"], tuple(step.get("headers", {}).items()), _body(step))

    def left(self) -> int:
        return len(self._steps)


def _body(step: Mapping[str, Any]) -> bytes:
    if "nested" in step:
        depth: int = step["nested"]
        return b'{"code":' + b"[" * depth + b"]" * depth + b"}"
    text: str = json.dumps(step["body"]) if "body" in step else step["text"]
    return text.encode()


def scripted(
    steps: Sequence[Mapping[str, Any]], settings: Mapping[str, int] | None = None, **more: Any
) -> tuple[Client, StoppedClock, Script]:
    """A client of the script, with the table's settings."""
    clock = StoppedClock()
    script = Script(clock, steps)
    bounds = Retries(**{**TABLE["settings"], **(settings or {})})
    options: dict[str, Any] = {"expires_in_ms": TABLE["expires_in_ms"], "chance": lambda: TABLE["random"], **more}
    client = Client("http://unused", retries=bounds, transport=script, clock=clock, **options)
    return client, clock, script


YES = {"status": 201, "body": {"result": {}, "replayed": False}}
REPLAY = {"status": 200, "headers": {"idempotent-replayed": "true"}, "body": {"result": {}, "replayed": True}}
NO = {"status": 409, "body": {"code": "level_full", "retryable": False}}
LOST = {"lost": True}
IN_PROGRESS = {"status": 409, "headers": {"retry-after": "2"}, "body": {"code": "key_in_progress", "retryable": True}}
