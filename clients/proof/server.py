"""The real server on a free port with a folder of its own, furnished with a market; and what it holds in the end."""

from __future__ import annotations

import json
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

#: What a trader may spend: more than any test does.
BALANCE = 1_000_000_000


class Server:
    """Runs until it is closed."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        log = Path(self._folder.name) / "log"
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                [program, "serve", "--data", f"{self._folder.name}/data", "--listen", "127.0.0.1:0"],
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        try:
            assert self._process.stdout is not None
            line = self._process.stdout.readline().strip()
            prefix, _, self.url = line.partition(" on ")
            if prefix != "listening":
                raise AssertionError(f"the server said {line!r}, and its log {log.read_text(encoding='utf-8')!r}")
            self._furnish()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the server, and removes its folder."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._folder.cleanup()

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None and parts.port is not None
        return parts.hostname, parts.port

    def read(self, path: str) -> dict[str, Any]:
        """What the server itself shows, asked without any of our clients."""
        with urllib.request.urlopen(self.url + path, timeout=20) as reply:
            members: dict[str, Any] = json.load(reply)
        return members

    def orders(self) -> int:
        """How many orders of one share have taken effect. Every figure that the server holds has to say the same."""
        net = self.read("/v1/markets/cup/instruments/ARG-10")["result"]["net"]
        holdings: list[dict[str, Any]] = self.read("/v1/markets/cup/accounts/ann/holdings")["result"]["holdings"]
        account = self.read("/v1/markets/cup/accounts/ann")
        entries = int(account["position"].split("-")[1]) - self._furniture
        shares = sum(holding["shares"] for holding in holdings)
        spent = BALANCE - account["result"]["balance"]
        if not net == shares == entries or spent != sum(10_000 + 2 * share for share in range(1, net + 1)):
            raise AssertionError(f"{net} shares sold, {shares} held, {entries} entries, {spent} spent")
        return int(net)

    def _furnish(self) -> None:
        limits = {"quantity_max": 1_000, "holding_max": 1_000_000, "house_loss_max": 0}
        steps = [
            ("/v1/markets", {"market": "cup", "decimals": 2, "fee_bps": 0, "mode": "open", "limits": limits}),
            ("/v1/markets/cup/instruments", {"instrument": "ARG-10", "base": 10_000, "slope": 2}),
            ("/v1/markets/cup/accounts", {"account": "ann", "opening_balance": BALANCE}),
        ]
        for number, (path, body) in enumerate(steps):
            headers = {"Content-Type": "application/json", "Idempotency-Key": f"furniture-{number}"}
            urllib.request.urlopen(urllib.request.Request(self.url + path, json.dumps(body).encode(), headers), timeout=20).close()
        self._furniture = len(steps)
