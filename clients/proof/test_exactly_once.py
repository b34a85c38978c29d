"""Each client against the real server, through a relay that loses what it can: as many effects as intents, by the server's own books.

    cargo xtask clients

It builds what is needed, and tells where it is: ``NVT_SERVER`` is the server's program, ``NVT_NODE`` that which runs JavaScript, and
``NVT_RUST_ORDERS`` the example of the Rust client.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from .relay import AFTER_THE_WORK, FAULTS, PATIENCE_S, Relay
from .server import Server

CLIENTS = Path(__file__).parents[1]
ORDERS = 48


def program(name: str) -> str:
    """A program that the run was told of."""
    path = os.environ.get(name)
    if not path:
        raise AssertionError(f"{name} is not set; `cargo xtask clients` sets it")
    return path


class ExactlyOnce(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(program("NVT_SERVER"))
        self.addCleanup(self.server.close)
        self.relay = Relay(self.server.address)
        self.addCleanup(self.relay.close)
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = held.name

    def start(self, command: list[str], environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
        arguments = [*command, self.relay.url, str(ORDERS), f"{self.folder}/intents"]
        return subprocess.Popen(arguments, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        told, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0)
        members: dict[str, Any] = json.loads(told)
        return members

    def judge(self, told: dict[str, Any]) -> None:
        self.relay.deliver_late()
        struck = dict(self.relay.struck)
        print(f"\n{self.id().rsplit('.', 1)[1]}: {told}; the relay: {struck}")
        self.assertEqual((told["done"], told["failed"], told["unknown"]), (ORDERS, 0, 0))
        self.assertEqual(self.server.orders(), ORDERS)
        self.assertEqual(self.relay.failures, [])
        for fault in FAULTS:
            self.assertGreater(struck.get(fault, 0), 0, f"{fault} never struck")
        self.assertGreater(struck.get("late_arrival", 0), 0, "nothing came late")
        # At least so many times the work had been done, and the client did not hear of it.
        self.assertGreaterEqual(told["attempts"], ORDERS + 1)
        self.assertGreater(sum(struck[fault] for fault in AFTER_THE_WORK), 5)
        self.assertGreater(told["replayed"], 5)

    def python(self) -> list[str]:
        return [sys.executable, str(CLIENTS / "python/examples/orders.py")]

    def python_path(self) -> dict[str, str]:
        return {"PYTHONPATH": str(CLIENTS / "python/src"), "PYTHONDONTWRITEBYTECODE": "1"}

    def killed_and_started_again(self, command: list[str], environment: dict[str, str], then: list[str] | None = None) -> None:
        self.relay.enough_after = ORDERS
        first = self.start(command, environment)
        self.assertTrue(self.relay.enough.wait(PATIENCE_S), "the client never got so far")
        first.kill()
        told, _ = first.communicate()
        self.assertEqual(told, "", "the client had ended before it was killed")
        self.assertGreater(self.server.read("/v1/markets/cup/instruments/ARG-10")["result"]["net"], 0)
        self.judge(self.finish(self.start(then or command, environment)))

    def test_typescript(self) -> None:
        self.judge(self.finish(self.start([program("NVT_NODE"), str(CLIENTS / "typescript/examples/orders.mjs")])))

    def test_rust(self) -> None:
        self.judge(self.finish(self.start([program("NVT_RUST_ORDERS")])))

    def test_rust_killed_and_started_again(self) -> None:
        self.killed_and_started_again([program("NVT_RUST_ORDERS")], {})

    def test_begun_in_python_and_ended_in_rust(self) -> None:
        """Both keep their intents in the same form, and take the same bytes for the same request."""
        self.killed_and_started_again(self.python(), self.python_path(), [program("NVT_RUST_ORDERS")])

    def test_python(self) -> None:
        self.judge(self.finish(self.start(self.python(), self.python_path())))

    def test_python_killed_and_started_again(self) -> None:
        self.killed_and_started_again(self.python(), self.python_path())


if __name__ == "__main__":
    unittest.main()
