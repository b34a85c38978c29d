"""Keys: made once, kept, never shared, never replaced."""

from __future__ import annotations

import threading
import unittest
from dataclasses import replace
from typing import Any

from nevertwice_client import ClientError, Done, Failed, Intent, MemoryStore, Unknown
from nevertwice_client.store import Record

from .scripted import IN_PROGRESS, LOST, NO, REPLAY, YES, scripted

NOT_SENT = {"not_sent": True}


class Keys(unittest.TestCase):
    def refused(self, code: str, call: object) -> None:
        with self.assertRaises(ClientError) as caught:
            call()  # type: ignore[operator]
        self.assertEqual(caught.exception.code, code)
        self.assertIn("Nothing was sent.", str(caught.exception))

    def test_a_retry_that_meets_the_in_flight_409_of_its_own_first_attempt_does_not_raise(self) -> None:
        client, clock, script = scripted([LOST, IN_PROGRESS, IN_PROGRESS, REPLAY])
        outcome = client.post("/charges", {"amount": 3})
        assert isinstance(outcome, Done), outcome
        self.assertTrue(outcome.replayed)
        self.assertEqual(len({headers["idempotency-key"] for _, headers in script.sent}), 1)
        self.assertTrue(all(wait >= 2_000 for wait in clock.waits[1:]))

    def test_a_key_never_leaks_into_the_next_call(self) -> None:
        client, _, script = scripted([YES, LOST, REPLAY, NO, YES])
        for _ in range(3):
            client.post("/charges", {"amount": 3})
        own = client.post("/charges", {"amount": 3}, key="mine")
        self.assertIsInstance(own, Done)
        keys = [headers["idempotency-key"] for _, headers in script.sent]
        self.assertEqual(keys[1], keys[2])
        self.assertEqual(len(set(keys)), 4)
        self.assertEqual(keys[4], "mine")

    def test_a_key_of_the_caller_is_never_overwritten_on_retry(self) -> None:
        for more in ({"key": "mine"}, {"headers": {"IDEMPOTENCY-KEY": "mine"}}, {"key": "mine", "headers": {"Idempotency-Key": "mine"}}):
            client, _, script = scripted([LOST, IN_PROGRESS, REPLAY])
            client.post("/charges", {"amount": 3}, **more)
            self.assertEqual([headers["idempotency-key"] for _, headers in script.sent], ["mine"] * 3)
            self.assertTrue(all(len([name for name in headers if name.lower() == "idempotency-key"]) == 1 for _, headers in script.sent))

    def test_outcomes_are_told_by_codes_and_not_by_texts(self) -> None:
        for detail in ("A request with this key is being worked on", "retry later", ""):
            client, _, _ = scripted([{"status": 409, "body": {"code": "sale_full", "detail": detail, "title": detail}}])
            outcome = client.post("/charges", {"amount": 3})
            assert isinstance(outcome, Failed), outcome
            self.assertEqual(outcome.code, "sale_full")

    def test_a_key_for_all_requests_of_a_client_is_refused(self) -> None:
        for name in ("Idempotency-Key", "idempotency-expires"):
            self.refused("key_conflict", lambda name=name: scripted([], headers={name: "1"}))

    def test_two_keys_for_one_intent_are_refused(self) -> None:
        client, _, script = scripted([])
        self.refused("key_conflict", lambda: client.post("/x", {}, key="a", headers={"idempotency-key": "b"}))
        client.intent("/x", {}, name="cart", key="a")
        self.refused("key_conflict", lambda: client.intent("/x", {}, name="cart", key="b"))
        self.assertEqual(script.sent, [])

    def test_a_key_that_is_none_is_refused(self) -> None:
        client, _, _ = scripted([])
        for key in ("", "a b", "ä", "x" * 256, "a\r\nb", 7):
            self.refused("key_invalid", lambda key=key: client.intent("/x", {}, key=key))

    def test_what_cannot_be_sent_is_refused(self) -> None:
        client, _, script = scripted([])
        for call in (
            lambda: client.intent("no-slash"),
            lambda: client.intent("/a b"),
            lambda: client.intent("/a\r\nx: y"),
            lambda: client.intent("/", method="post"),
            lambda: client.intent("/", headers={"a": "b\r\nc"}),
            lambda: client.intent("/", headers={"a b": "c"}),
            lambda: client.intent("/", headers={"Principal": "ann", "principal": "bob"}),
            lambda: client.intent("/", headers={"Content-Length": "0"}),
            lambda: client.intent("/", headers={"Idempotency-Expires": "1"}),
            lambda: client.intent("/", {"a": float("nan")}),
            lambda: client.intent("/", {"a": object()}),
            lambda: client.intent("/", {}, body=b""),
            lambda: client.intent("/", expires_at=-1),
            lambda: client.intent("/", expires_at=1.5),  # type: ignore[arg-type]
            lambda: client.intent("/", name=""),
            lambda: client.intent("/", name="x" * 257),
        ):
            self.refused("request_invalid", call)
        self.assertEqual(script.sent, [])

    def test_every_attempt_carries_the_same_expiry_and_bytes(self) -> None:
        client, clock, script = scripted([LOST, LOST, YES], headers={"Principal": "web"})
        order = {"quantity": 3, "name": "Zoë"}
        intent = client.intent("/orders", order)
        order["quantity"] = 4
        client.send(intent)
        self.assertEqual({headers["idempotency-expires"] for _, headers in script.sent}, {"1790000060000"})
        self.assertEqual({request.body for request, _ in script.sent}, {'{"quantity":3,"name":"Zoë"}'.encode()})
        self.assertEqual({headers["principal"] for _, headers in script.sent}, {"web"})

    def test_credentials_may_change_between_two_attempts(self) -> None:
        given = iter(["Bearer a", "Bearer b"])
        client, _, script = scripted([LOST, YES], authorization=lambda: next(given))
        client.post("/orders", {})
        self.assertEqual([headers["authorization"] for _, headers in script.sent], ["Bearer a", "Bearer b"])


class Names(unittest.TestCase):
    def refused(self, code: str, call: object) -> None:
        with self.assertRaises(ClientError) as caught:
            call()  # type: ignore[operator]
        self.assertEqual(caught.exception.code, code)

    def test_a_name_keeps_its_key_over_a_restart(self) -> None:
        store = MemoryStore()
        before, _, first = scripted([LOST] * 5, store=store)
        self.assertIsInstance(before.send(before.intent("/x", {"a": 1}, name="cart-81")), Unknown)
        after, _, second = scripted([REPLAY], store=store)
        outcome = after.send(after.intent("/x", {"a": 1}, name="cart-81"))
        assert isinstance(outcome, Done), outcome
        self.assertTrue(outcome.replayed)
        self.assertEqual(first.sent[0], second.sent[0])

    def test_a_lost_attempt_before_a_restart_leaves_a_later_no_in_doubt(self) -> None:
        store = MemoryStore()
        before, _, _ = scripted([LOST] * 5, store=store)
        before.send(before.intent("/x", {}, name="cart"))
        after, _, _ = scripted([NO], store=store)
        outcome = after.send(after.intent("/x", {}, name="cart"))
        assert isinstance(outcome, Unknown), outcome
        self.assertEqual((outcome.reason, outcome.problem["code"]), ("refused_in_doubt", "level_full"))

    def test_another_body_under_the_same_key_is_refused_here(self) -> None:
        client, _, script = scripted([LOST] * 5)
        client.send(client.intent("/x", {"a": 1}, name="cart"))
        for call in (
            lambda: client.intent("/x", {"a": 2}, name="cart"),
            lambda: client.intent("/y", {"a": 1}, name="cart"),
            lambda: client.intent("/x", {"a": 1}, name="cart", method="PUT"),
            lambda: client.intent("/x", {"a": 1}, name="cart", headers={"Principal": "somebody else"}),
        ):
            self.refused("request_changed", call)
        self.assertEqual(len(script.sent), 5)

    def test_a_finished_name_gets_a_new_key_and_an_unfinished_one_does_not(self) -> None:
        client, _, script = scripted([YES, REPLAY, YES])
        intent = client.intent("/x", {}, name="cart")
        client.send(intent)
        client.send(client.intent("/x", {}, name="cart"))
        client.finish(intent)
        client.send(client.intent("/x", {}, name="cart"))
        keys = [headers["idempotency-key"] for _, headers in script.sent]
        self.assertEqual(keys[0], keys[1])
        self.assertNotEqual(keys[0], keys[2])

    def test_what_is_unknown_is_not_finished(self) -> None:
        client, _, _ = scripted([LOST] * 5)
        intent = client.intent("/x", {}, name="cart")
        client.send(intent)
        self.refused("still_unknown", lambda: client.finish(intent))
        self.assertEqual(client.intent("/x", {}, name="cart").key, intent.key)
        client.abandon(intent)
        self.assertNotEqual(client.intent("/x", {}, name="cart").key, intent.key)

    def test_what_is_unknown_keeps_its_key_beyond_its_expiry_and_is_not_sent(self) -> None:
        client, clock, script = scripted([LOST] * 5)
        intent = client.intent("/x", {}, name="cart")
        client.send(intent)
        clock.now = intent.expires_at
        again = client.intent("/x", {}, name="cart")
        outcome = client.send(again)
        self.assertEqual((again.key, outcome), (intent.key, Unknown("expired", None, None, 0)))
        self.assertEqual(len(script.sent), 5)

    def test_what_has_ended_is_forgotten_at_its_expiry(self) -> None:
        for step in (YES, NO):
            client, clock, _ = scripted([step])
            intent = client.intent("/x", {}, name="cart")
            client.send(intent)
            clock.now = intent.expires_at - 1
            self.assertEqual(client.intent("/x", {}, name="cart").key, intent.key)
            clock.now = intent.expires_at
            self.assertNotEqual(client.intent("/x", {}, name="cart").key, intent.key)

    def test_what_has_happened_is_not_taken_back_by_a_later_no(self) -> None:
        for steps in ([YES, NO], [YES] + [NOT_SENT] * 5):
            client, _, _ = scripted(steps)
            intent = client.intent("/x", {}, name="cart")
            client.send(intent)
            self.assertIsInstance(client.send(intent), Unknown)
            self.assertEqual(intent.state, "done")

    def test_two_who_come_at_once_get_one_key(self) -> None:
        client, _, _ = scripted([])
        keys = []
        threads = [threading.Thread(target=lambda: keys.append(client.intent("/x", {}, name="cart").key)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(keys), len(set(keys))), (8, 1))


class BrokenStore(MemoryStore):
    """Stops writing when it is told to."""

    broken_from: str | None = None

    def swap(self, name: str, old: Record | None, new: Record | None) -> bool:
        if new is not None and new.state == self.broken_from:
            raise ClientError("store_failed", "The disk is full", "Make room")
        return super().swap(name, old, new)


class Stores(unittest.TestCase):
    def test_what_cannot_be_kept_is_not_sent(self) -> None:
        store = BrokenStore()
        client, _, script = scripted([YES], store=store)
        store.broken_from = "sent"
        with self.assertRaises(ClientError) as caught:
            client.post("/x", {}, name="cart")
        self.assertEqual((caught.exception.code, script.sent), ("store_failed", []))

    def test_a_store_that_breaks_between_two_attempts_does_not_hide_the_outcome(self) -> None:
        store = BrokenStore()
        cases: list[tuple[list[Any], type]] = [([LOST, REPLAY], Done), ([LOST] * 5, Unknown)]
        for steps, kind in cases:
            client, clock, _ = scripted(steps, store=store)
            store.broken_from = None
            intent = client.intent("/x", {}, name=f"cart-{kind.__name__}")

            def breaks(intent: Intent = intent) -> None:
                assert intent.name is not None
                store.swap(intent.name, store.get(intent.name), replace(intent.record, state="new"))
                store.broken_from = "sent"

            clock.during_sleep = breaks
            self.assertIsInstance(client.send(intent), kind)

    def test_an_outcome_that_cannot_be_kept_is_told_and_the_key_stays(self) -> None:
        store = BrokenStore()
        client, _, _ = scripted([YES, REPLAY], store=store)
        store.broken_from = "done"
        self.assertIsInstance(client.post("/x", {}, name="cart"), Done)
        again = client.post("/x", {}, name="cart")
        self.assertTrue(isinstance(again, Done) and again.replayed)


class TwoSenders(unittest.TestCase):
    """The same intent, sent by two processes at once: what one was told must not hide what the other does not know."""

    def test_a_refusal_beside_another_sender_is_no_refusal(self) -> None:
        store = MemoryStore()
        other, _, _ = scripted([LOST] * 5, store=store)
        mine, _, _ = scripted([NO], store=store)
        first = mine.intent("/x", {}, name="cart")
        # The other has begun, and not ended, when mine is sent.
        other.intent("/x", {}, name="cart").note("sent")
        outcome = mine.send(first)
        self.assertTrue(isinstance(outcome, Unknown) and outcome.reason == "refused_in_doubt", outcome)

    def test_a_refusal_of_another_sender_does_not_take_doubt_away(self) -> None:
        store = MemoryStore()
        client, clock, _ = scripted([LOST] * 5, store=store)
        intent = client.intent("/x", {}, name="cart")
        # Whenever this one waits, the other has been refused, and has noted that nothing happened.
        clock.during_sleep = lambda: (store.swap("cart", store.get("cart"), intent_with("new")), None)[1]

        def intent_with(state: str) -> Record:
            return Record(intent.key, intent.expires_at, intent.record.digest, state)

        self.assertIsInstance(client.send(intent), Unknown)
        kept = store.get("cart")
        self.assertTrue(kept is not None and kept.state == "sent")

    def test_an_intent_that_another_finished_is_not_sent(self) -> None:
        client, _, script = scripted([YES])
        intent = client.intent("/x", {}, name="cart")
        client.finish(client.intent("/x", {}, name="cart"))
        for _ in range(2):
            with self.assertRaises(ClientError) as caught:
                client.send(intent)
            self.assertEqual((caught.exception.code, script.sent), ("key_conflict", []))
            # The name stands for another intent now.
            client.intent("/x", {}, name="cart")

    def test_of_two_who_find_an_ended_name_at_its_expiry_one_makes_the_key(self) -> None:
        client, clock, _ = scripted([YES])
        old = client.intent("/x", {}, name="cart")
        client.send(old)
        clock.now = old.expires_at
        keys: list[str] = []
        threads = [threading.Thread(target=lambda: keys.append(client.intent("/x", {}, name="cart").key)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(keys), len(set(keys)), old.key in keys), (8, 1, False))


class Ends(unittest.TestCase):
    def test_cancelled_before_the_first_attempt_nothing_is_sent(self) -> None:
        client, _, script = scripted([])
        cancel = threading.Event()
        cancel.set()
        outcome = client.post("/x", {}, cancel=cancel)
        self.assertEqual((outcome, script.sent), (Failed("not_sent", None, 0), []))

    def test_cancelled_after_a_lost_attempt_it_is_unknown(self) -> None:
        client, clock, script = scripted([LOST])
        cancel = threading.Event()
        clock.during_sleep = cancel.set
        outcome = client.post("/x", {}, cancel=cancel)
        self.assertEqual((outcome, len(script.sent)), (Unknown("cancelled", None, None, 1), 1))

    def test_jitter_spreads_a_crowd_and_never_comes_before_retry_after(self) -> None:
        waits = set()
        for chance in (0.0, 0.25, 0.5, 0.999):
            client, clock, _ = scripted([LOST, IN_PROGRESS, YES], chance=lambda chance=chance: chance)
            client.post("/x", {})
            first, second = clock.waits
            self.assertTrue(50 <= first <= 100 and 2_000 <= second <= 2_100, clock.waits)
            waits.add((first, second))
        self.assertEqual(len(waits), 4)


if __name__ == "__main__":
    unittest.main()
