"""How an intent ended, as far as the client knows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Union

from .transport import Reply


@dataclass(frozen=True)
class Done:
    """It happened, once."""

    reply: Reply
    #: Whether it had happened before this attempt, with the same key.
    replayed: bool
    attempts: int

    def json(self) -> Any:
        """The answer's body. ``ValueError`` if it is no JSON: it has happened all the same."""
        return json.loads(self.reply.body)


@dataclass(frozen=True)
class Failed:
    """It did not happen: the server said no, or never heard of it. What was asked may be asked anew."""

    #: The server's stable code; ``http_STATUS`` if it names none; ``not_sent`` if nothing has reached it.
    code: str
    reply: Reply | None
    attempts: int

    @property
    def problem(self) -> Mapping[str, Any]:
        """The server's problem details (RFC 9457); empty if there are none."""
        return problem_of(self.reply)


@dataclass(frozen=True)
class Unknown:
    """Nobody knows here whether it happened: show neither yes nor no, and make no new key.

    Send the same intent again, which tells; or, after its ``expires_at``, look at what the server shows.
    """

    #: Why it was given up: ``deadline``, ``attempts``, ``expired``, ``cancelled``, ``server_fault`` (an answer that says neither yes
    #: nor no), or ``refused_in_doubt`` (a no to this attempt, while an earlier one may still be on its way).
    reason: str
    #: The server's last code, or nothing if there was no answer.
    code: str | None
    reply: Reply | None
    attempts: int

    @property
    def problem(self) -> Mapping[str, Any]:
        """The problem details of the last answer; empty if there are none."""
        return problem_of(self.reply)


Outcome = Union[Done, Failed, Unknown]


def problem_of(reply: Reply | None) -> Mapping[str, Any]:
    """The members of a problem, if the body is a JSON object."""
    if reply is None:
        return {}
    try:
        members = json.loads(reply.body)
    except (ValueError, RecursionError):
        return {}
    return members if isinstance(members, dict) else {}
