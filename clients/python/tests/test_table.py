"""The table that all clients share."""

from __future__ import annotations

import re
import unittest
from pathlib import Path
from typing import Any

from nevertwice_client import Done, Failed, Outcome, Unknown
from nevertwice_client.key import key_of
from nevertwice_client.request import Request
from nevertwice_client.retries import retry_after_ms
from nevertwice_client.verdict import NOTHING_DONE

from .scripted import TABLE, scripted

DOCS = Path(__file__).parents[3] / "docs"


def told(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Done):
        return {"kind": "done", "status": outcome.reply.status, "replayed": outcome.replayed, "attempts": outcome.attempts}
    if isinstance(outcome, Failed):
        return {"kind": "failed", "code": outcome.code, "attempts": outcome.attempts}
    assert isinstance(outcome, Unknown)
    return {"kind": "unknown", "reason": outcome.reason, "code": outcome.code, "attempts": outcome.attempts}


class Table(unittest.TestCase):
    def test_every_case_ends_as_the_table_says(self) -> None:
        self.assertGreater(len(TABLE["cases"]), 30)
        for case in TABLE["cases"]:
            with self.subTest(case["name"]):
                client, clock, script = scripted(case["script"], case.get("settings"))
                expires_at = clock.now + case.get("expires_in_ms", TABLE["expires_in_ms"])
                intent = client.intent("/charges", {"amount": 3}, expires_at=expires_at)
                outcome = client.send(intent)
                expected = dict(case["outcome"])
                self.assertEqual(expected.pop("state"), intent.state)
                self.assertEqual(expected, {member: told(outcome)[member] for member in expected})
                self.assertEqual(case["waits_ms"], clock.waits)
                self.assertEqual(script.left(), 0)
                self.assertEqual(case.get("timeouts_ms", script.timeouts), script.timeouts)
                # Whatever happens, every attempt is the same request with the same key.
                self.assertLessEqual(len({repr(sent) for sent in script.sent}), 1)

    def test_codes_that_say_that_nothing_was_done_are_believed(self) -> None:
        for code in TABLE["nothing_done"]:
            client, _, _ = scripted([{"status": 503, "body": {"code": code, "retryable": True}}], {"attempts_max": 1})
            self.assertEqual(told(client.post("/x", {})), {"kind": "failed", "code": code, "attempts": 1})
        self.assertEqual(sorted(TABLE["nothing_done"]), sorted(NOTHING_DONE))

    def test_codes_that_say_that_nothing_was_done_say_so_on_their_pages(self) -> None:
        guide = (DOCS / "clients.md").read_text(encoding="utf-8")
        note = guide.split("\n¹ ")[1].split("\n\n")[0]
        self.assertEqual(sorted(re.findall("`([a-z_]+)`", note)), sorted(NOTHING_DONE))
        for code in NOTHING_DONE:
            page = (DOCS / f"errors/{code}.md").read_text(encoding="utf-8")
            self.assertIn("Retryable: yes", page)
            self.assertRegex(page, r"\*\*What was done\.\*\* Nothing[.:]")

    def test_keys_are_uuids_of_version_7(self) -> None:
        for case in TABLE["keys"]:
            self.assertEqual(key_of(case["now_ms"], bytes.fromhex(case["bytes"])), case["key"])

    def test_a_digest_covers_method_path_principal_and_body(self) -> None:
        for case in TABLE["digests"]:
            headers = (("principal", case["principal"]),) if case["principal"] else ()
            self.assertEqual(Request(case["method"], case["path"], headers, case["body"].encode()).digest(), case["digest"])

    def test_retry_after_is_seconds_or_a_date(self) -> None:
        for case in TABLE["retry_after"]:
            with self.subTest(case):
                self.assertEqual(retry_after_ms(case["value"], case.get("date"), TABLE["now_ms"]), case["ms"])
        self.assertIsNone(retry_after_ms(None, None, 0))
