"""The examples of ``docs/clients.md``, as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from .server import Server
from .test_exactly_once import CLIENTS, program

PAGE = (CLIENTS.parent / "docs/clients.md").read_text(encoding="utf-8")


class Examples(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(program("NVT_SERVER"))
        self.addCleanup(self.server.close)

    def run_example(self, language: str, command: list[str], ending: str) -> None:
        (text,) = re.findall(f"```{language}\n(.*?)```", PAGE, re.DOTALL)
        self.assertEqual(text.count("http://127.0.0.1:8080"), 1)
        text = text.replace("http://127.0.0.1:8080", self.server.url)
        text = text.replace('"nevertwice-client"', f'"{(CLIENTS / "typescript/dist/index.js").as_uri()}"')
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"example{ending}"
            path.write_text(text, encoding="utf-8")
            environment = {**os.environ, "PYTHONPATH": str(CLIENTS / "python/src"), "PYTHONDONTWRITEBYTECODE": "1"}
            ran = subprocess.run([*command, str(path)], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual((ran.stdout.strip(), ran.stderr, ran.returncode), ("ordered for 30012", "", 0))
        net = self.server.read("/v1/markets/cup/instruments/ARG-10")["result"]["net"]
        self.assertEqual(net, 3)

    def test_python(self) -> None:
        self.run_example("python", [sys.executable], ".py")

    def test_javascript(self) -> None:
        self.run_example("js", [program("NVT_NODE")], ".mjs")
