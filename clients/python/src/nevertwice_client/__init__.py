"""Requests that are made exactly once, however often they are sent.

One key for each intent, made once and kept across retries; bounded, jittered retries of what may be retried and of nothing else;
and an outcome that never guesses: :class:`Done`, :class:`Failed`, or :class:`Unknown`.

    from nevertwice_client import Client, Done, Failed, Unknown

    client = Client("http://127.0.0.1:8080", headers={"Principal": "web"})
    outcome = client.post("/v1/markets/cup/orders", {"account": "ann", "instrument": "ARG-10", "side": "buy", "quantity": 3})

It works with every server that keeps the ``Idempotency-Key`` contract. It needs Python 3.9 or newer and nothing else.
"""

from .client import Client
from .clock import Clock
from .errors import ClientError
from .intent import Intent
from .outcome import Done, Failed, Outcome, Unknown
from .request import Request
from .retries import Retries
from .store import FolderStore, IntentStore, MemoryStore
from .transport import HttpTransport, Lost, NotSent, Reply

__all__ = [
    "Client",
    "ClientError",
    "Clock",
    "Done",
    "Failed",
    "FolderStore",
    "HttpTransport",
    "Intent",
    "IntentStore",
    "Lost",
    "MemoryStore",
    "NotSent",
    "Outcome",
    "Reply",
    "Request",
    "Retries",
    "Unknown",
]
