"""What one person meant once: a key, a request, and the instant from which it is given up."""

from __future__ import annotations

import threading
from dataclasses import replace

from .errors import ClientError
from .request import Request
from .store import DONE, SENT, IntentStore, Record


class Intent:
    """Made by :meth:`Client.intent`. It can be sent any number of times, and is the same intent each time."""

    def __init__(self, name: str | None, request: Request, record: Record, store: IntentStore | None) -> None:
        self.name = name
        self.request = request
        self._record = record
        self._store = store
        self._guard = threading.Lock()

    @property
    def record(self) -> Record:
        """What is kept of it."""
        return self._record

    @property
    def key(self) -> str:
        """The idempotency key, the same in every attempt."""
        return self._record.key

    @property
    def expires_at(self) -> int:
        """Milliseconds since 1970. From then on it is not sent any more, and a server that knows nothing of it refuses it."""
        return self._record.expires_at

    @property
    def state(self) -> str:
        """``new``: nothing has happened. ``sent``: it may have happened. ``done``: it has happened."""
        return self._record.state

    def note(self, state: str) -> bool:
        """Keeps what is known now, and says whether that is new. What has happened stays so, whatever an attempt was told.

        That it is sent has to be kept before it is; if that fails, it is not sent. An outcome that can't be kept is told all the
        same: the store then still says ``sent``, and whoever sends it again gets the same answer.
        """
        try:
            return self._note(state)
        except ClientError:
            if state == SENT:
                raise
            with self._guard:
                self._record = replace(self._record, state=state)
            return True

    def read_again(self) -> None:
        """Takes in what another process has noted."""
        if self._store is not None and self.name is not None:
            record = self._store.get(self.name)
            if record is not None and record.key == self._record.key:
                with self._guard:
                    self._record = record

    def _note(self, state: str) -> bool:
        with self._guard:
            if self._store is None or self.name is None:
                return self._take(state, self._record)
            while True:
                kept = self._store.get(self.name)
                if kept is None or kept.key != self._record.key:
                    wrong = f"{self.name!r} was finished meanwhile, or stands for another intent"
                    raise ClientError("key_conflict", wrong, "Make the intent anew, if it is still meant")
                if kept.state in (state, DONE) or self._store.swap(self.name, kept, replace(kept, state=state)):
                    return self._take(state, kept)

    def _take(self, state: str, kept: Record) -> bool:
        is_new = kept.state not in (state, DONE)
        self._record = replace(kept, state=state) if is_new else kept
        return is_new
