"""Makes intents, and sends each until its outcome is known or a bound is reached."""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Mapping
from typing import Any, Callable

from .clock import Clock
from .errors import ClientError
from .intent import Intent
from .key import key_of
from .outcome import Done, Failed, Outcome, Unknown
from .request import EXPIRES_HEADER, KEY_HEADER, checked_key, header_lines, invalid, make_request
from .retries import Retries, retry_after_ms
from .store import DONE, NEW, SENT, IntentStore, MemoryStore, Record
from .transport import HttpTransport, Lost, NotSent, Reply, Transport
from .verdict import Verdict, is_replay, judge

#: The latest instant that a server reads, in milliseconds since 1970.
INSTANT_MAX = 2**53 - 1
#: The longest name of an intent, in characters.
NAME_MAX = 256


class Client:
    """A client of one server. Threads may share it.

    ``headers`` go with every request; ``authorization`` is asked anew for each attempt, for credentials may end between two.
    ``transport``, ``clock``, ``chance`` (a number from 0 up to 1) and ``chance_bytes`` (so many random bytes) are there for tests,
    and for those who have their own.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        authorization: Callable[[], str] | None = None,
        expires_in_ms: int = 600_000,
        retries: Retries | None = None,
        store: IntentStore | None = None,
        transport: Transport | None = None,
        clock: Clock | None = None,
        chance: Callable[[], float] = random.SystemRandom().random,
        chance_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._headers = header_lines(headers or {})
        if KEY_HEADER in self._headers or EXPIRES_HEADER in self._headers:
            wrong = "A key or an expiry stands among the headers of all requests, and would make one intent of all of them"
            raise ClientError("key_conflict", wrong, "Give it to `intent` or `post`")
        if expires_in_ms < 1:
            raise invalid("expires_in_ms is below 1")
        self._authorization = authorization
        self._expires_in_ms = expires_in_ms
        self._retries = Retries() if retries is None else retries
        self._store: IntentStore = MemoryStore() if store is None else store
        self._transport: Transport = HttpTransport(base_url) if transport is None else transport
        self._clock = clock or Clock()
        self._chance = chance
        self._chance_bytes = chance_bytes

    def intent(
        self,
        path: str,
        json: Any = None,
        *,
        body: bytes | None = None,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
        key: str | None = None,
        expires_at: int | None = None,
    ) -> Intent:
        """Makes an intent, or finds the one that goes by ``name`` and is not finished.

        The name says what is meant ("cart-81"), not which button was pressed: as long as it is not finished, whoever comes with it
        gets the same key. Another request under it is refused (``request_changed``). Without a name each call is an intent of its own.
        """
        request, given = make_request(method, path, {**self._headers, **header_lines(headers or {})}, json, body)
        if key is not None and given is not None and key != given:
            raise ClientError("key_conflict", "The header and the argument name different keys", "Give one of them")
        given = given if key is None else key
        if given is not None:
            checked_key(given)
        now_ms = self._clock.now_ms()
        expires_at = now_ms + self._expires_in_ms if expires_at is None else expires_at
        if type(expires_at) is not int or not 0 <= expires_at <= INSTANT_MAX:
            raise invalid("expires_at is not a whole number of milliseconds since 1970")
        made = key_of(now_ms, self._chance_bytes(10)) if given is None else given
        fresh = Record(made, expires_at, request.digest(), NEW)
        if name is not None and not 1 <= len(name) <= NAME_MAX:
            raise invalid(f"the name of an intent is not 1 to {NAME_MAX} characters long")
        if name is None:
            return Intent(None, request, fresh, None)
        record = self._kept(name, fresh, now_ms)
        if given is not None and record.key != given:
            raise ClientError("key_conflict", f"{name!r} has another key already", "Finish that intent, or choose another name")
        if record.digest != fresh.digest:
            wrong = f"{name!r} was another request, and its key must not be used for this one"
            raise ClientError("request_changed", wrong, "Finish that intent once its outcome is known, or choose another name")
        return Intent(name, request, record, self._store)

    def post(self, path: str, json: Any = None, *, cancel: threading.Event | None = None, **more: Any) -> Outcome:
        """Makes an intent, and sends it. ``more`` is what :meth:`intent` takes."""
        return self.send(self.intent(path, json, **more), cancel=cancel)

    def finish(self, intent: Intent) -> None:
        """Forgets an intent whose outcome was taken in, so that its name is free for the next.

        Refused (``still_unknown``) while nobody knows whether it happened.
        """
        self._forget(intent, although_unknown=False)

    def abandon(self, intent: Intent) -> None:
        """Forgets an intent whatever its outcome. Whoever then makes another for the same thing answers for what happens twice."""
        self._forget(intent, although_unknown=True)

    def send(self, intent: Intent, *, retries: Retries | None = None, cancel: threading.Event | None = None) -> Outcome:
        """Sends the intent, again and again within the bounds, and says what is known. It raises what the client itself refuses, before
        anything is sent, and what ``authorization`` raises; after that the intent's ``state`` tells whether it may have happened.

        ``cancel`` is looked at before each attempt and ends a wait; an attempt that is under way goes on to its end.
        """
        bounds = retries or self._retries
        intent.read_again()
        had_happened = intent.state == DONE
        in_doubt = intent.state != NEW
        end_ms = self._clock.elapsed_ms() + bounds.deadline_ms
        last: Reply | None = None
        code: str | None = None
        attempts = 0

        def note_in_doubt() -> None:
            # Somebody who sends the same intent may have noted a refusal of his meanwhile. If this can't be kept, the first note holds.
            with contextlib.suppress(ClientError):
                intent.note(SENT)

        def unknown(reason: str) -> Unknown:
            note_in_doubt()
            return Unknown(reason, code, last, attempts)

        def give_up(reason: str) -> Outcome:
            if in_doubt:
                return unknown(reason)
            if attempts > 0:
                intent.note(NEW)
            return Failed(code or "not_sent", last, attempts)

        while True:
            left_ms = end_ms - self._clock.elapsed_ms()
            if cancel is not None and cancel.is_set():
                return give_up("cancelled")
            if self._clock.now_ms() >= intent.expires_at:
                return give_up("expired")
            if left_ms <= 0:
                return give_up("deadline")
            lines = self._lines(intent)
            if attempts > 0:
                note_in_doubt()
            elif not intent.note(SENT):
                # Somebody else sends it, or has.
                in_doubt, had_happened = True, intent.state == DONE
            attempts += 1
            after_ms: int | None = None
            try:
                reply = self._transport(intent.request, lines, min(bounds.timeout_ms, left_ms))
            except NotSent:
                pass
            except Lost:
                in_doubt = True
            else:
                last = reply
                verdict, code = judge(reply)
                if verdict is Verdict.YES:
                    intent.note(DONE)
                    return Done(reply, is_replay(reply) or code == "answer_not_kept", attempts)
                if verdict is Verdict.IN_DOUBT:
                    return unknown("server_fault")
                if verdict is Verdict.NO or verdict is Verdict.NO_THIS_TIME:
                    if had_happened or (in_doubt and verdict is Verdict.NO_THIS_TIME):
                        return unknown("refused_in_doubt")
                    intent.note(NEW)
                    return Failed(code, reply, attempts)
                in_doubt = in_doubt or verdict is Verdict.AGAIN_IN_DOUBT
                after_ms = retry_after_ms(reply.header("retry-after"), reply.header("date"), self._clock.now_ms())
            if attempts >= bounds.attempts_max:
                return give_up("attempts")
            wait_ms = bounds.wait_ms(attempts, after_ms, self._chance())
            # A wait that ends too late is not begun.
            if self._clock.now_ms() + wait_ms >= intent.expires_at:
                return give_up("expired")
            if self._clock.elapsed_ms() + wait_ms >= end_ms:
                return give_up("deadline")
            self._clock.sleep(wait_ms, cancel)

    def _kept(self, name: str, fresh: Record, now_ms: int) -> Record:
        """The record that is kept under the name: the fresh one, if there is none that still counts."""
        while True:
            kept = self._store.get(name)
            # What is known to have happened, or not to have, is kept until its expiry and no longer.
            if kept is not None and (kept.state == SENT or kept.expires_at > now_ms):
                return kept
            if self._store.swap(name, kept, fresh):
                return fresh

    def _forget(self, intent: Intent, although_unknown: bool) -> None:
        if intent.name is None:
            kept: Record | None = intent.record
        else:
            kept = self._store.get(intent.name)
        while kept is not None and kept.key == intent.key:
            if kept.state == SENT and not although_unknown:
                wrong = "Nobody knows whether it has happened"
                raise ClientError("still_unknown", wrong, "Send it again, or look first and then abandon it")
            if intent.name is None or self._store.swap(intent.name, kept, None):
                return
            kept = self._store.get(intent.name)

    def _lines(self, intent: Intent) -> Mapping[str, str]:
        lines = dict(intent.request.headers)
        if self._authorization is not None:
            lines["authorization"] = self._authorization()
        lines[KEY_HEADER] = intent.key
        lines[EXPIRES_HEADER] = str(intent.expires_at)
        return lines
