"""The store in a folder."""

from __future__ import annotations

import json
import tempfile
import threading
import unittest
from pathlib import Path

from nevertwice_client import ClientError, FolderStore
from nevertwice_client.store import Record

RECORD = Record("key-1", 1_790_000_000_000, "00", "new")


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name) / "intents"
        self.store = FolderStore(self.folder)

    def test_it_keeps_and_forgets(self) -> None:
        self.assertIsNone(self.store.get("cart"))
        self.assertTrue(self.store.swap("cart", None, RECORD))
        sent = Record("key-1", 1_790_000_000_000, "00", "sent")
        self.assertTrue(self.store.swap("cart", RECORD, sent))
        self.assertEqual(FolderStore(self.folder).get("cart"), sent)
        self.assertTrue(self.store.swap("cart", sent, None))
        self.assertTrue(self.store.swap("cart", None, None))
        self.assertIsNone(self.store.get("cart"))
        self.assertEqual(self.files(), [])

    def files(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.name != "lock"]

    def test_only_what_was_seen_is_replaced(self) -> None:
        other = Record("key-2", 1, "11", "new")
        self.assertFalse(self.store.swap("cart", RECORD, other))
        self.store.swap("cart", None, RECORD)
        for old, new in ((None, other), (other, RECORD), (other, None), (None, None)):
            self.assertFalse(self.store.swap("cart", old, new))
        self.assertEqual((self.store.get("cart"), len(self.files())), (RECORD, 1))

    def test_of_many_at_once_one_comes_first(self) -> None:
        first: list[bool] = []

        def add(index: int) -> None:
            first.append(FolderStore(self.folder).swap("cart", None, Record(f"key-{index}", 1, "00", "new")))

        threads = [threading.Thread(target=add, args=(index,)) for index in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(first), first.count(True)), (16, 1))

    def test_any_name_is_a_file_in_the_folder(self) -> None:
        for name in ("../../etc/passwd", "a/b", "\x00", "\ud800", "ü" * 200):
            self.store.swap(name, None, RECORD)
            self.assertEqual(self.store.get(name), RECORD)
        self.assertEqual((len(self.files()), len(list(self.folder.parent.iterdir()))), (5, 1))

    def test_what_is_no_record_is_told_and_not_taken_for_nothing(self) -> None:
        self.store.swap("cart", None, RECORD)
        (path,) = self.files()
        good = json.loads(path.read_text(encoding="utf-8"))
        for bad in (
            "",
            "[]",
            "{",
            "{}",
            "x" * 5_000,
            "[" * 4_000,
            *(
                json.dumps({**good, **change})
                for change in (
                    {"version": 2},
                    {"state": "gone"},
                    {"expires_at": "1"},
                    {"expires_at": True},
                    {"key": 1},
                    {"more": 1},
                )
            ),
        ):
            path.write_text(bad, encoding="utf-8")
            with self.assertRaises(ClientError) as caught:
                self.store.get("cart")
            self.assertEqual(caught.exception.code, "store_failed")
            with self.assertRaises(ClientError):
                self.store.swap("cart", None, RECORD)

    def test_a_folder_that_cannot_be_is_told(self) -> None:
        (self.folder / "file").write_text("", encoding="utf-8")
        with self.assertRaises(ClientError) as caught:
            FolderStore(self.folder / "file" / "below")
        self.assertEqual(caught.exception.code, "store_failed")

    def test_only_the_owner_can_read_it(self) -> None:
        self.store.swap("cart", None, RECORD)
        (path,) = self.files()
        self.assertEqual((path.stat().st_mode & 0o077, self.folder.stat().st_mode & 0o077), (0, 0))
