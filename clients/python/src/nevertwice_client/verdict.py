"""What one answer means. This is the table of ``docs/clients.md``, and the only place that knows it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from .outcome import problem_of
from .transport import Reply


class Verdict(Enum):
    """What an answer says of the intent, and of an earlier attempt whose answer was lost."""

    #: It happened.
    YES = "yes"
    #: It did not happen, and no earlier attempt can make it happen.
    NO = "no"
    #: This attempt did nothing. An earlier one may still be on its way.
    NO_THIS_TIME = "no_this_time"
    #: This attempt did nothing, and another may well succeed.
    AGAIN = "again"
    #: It may have happened. The same key will tell.
    AGAIN_IN_DOUBT = "again_in_doubt"
    #: It may have happened, and asking again at once is of no use.
    IN_DOUBT = "in_doubt"


#: Answers that a server may give only where it did nothing.
NOTHING_DONE = frozenset(
    {
        "instant_out_of_range",
        "in_flight_limited",
        "intents_full",
        "key_store_unavailable",
        "keys_full",
        "ledger_behind",
        "ledger_stopped",
        "overloaded",
        "rate_limited",
        "replicas_short",
        "request_timeout",
        "shutting_down",
        "standby_follows",
        "storage_full",
        "upstream_unreachable",
    }
)
#: The refusal that holds for every copy of the request, those that are still on their way included.
EXPIRED = "intent_expired"
#: Statuses that may be asked again, if nothing speaks against it.
ASK_AGAIN = frozenset({408, 429, 502, 503, 504})


def judge(reply: Reply) -> tuple[Verdict, str]:
    """The verdict, and the code that stands for the answer."""
    problem = problem_of(reply) if reply.status >= 400 else {}
    named = problem.get("code")
    code = named if isinstance(named, str) and named else f"http_{reply.status}"
    return _verdict(reply, code, problem), code


def is_replay(reply: Reply) -> bool:
    """Whether the answer is that of an earlier attempt. Browsers may hide the header, so the body counts as well."""
    return reply.header("idempotent-replayed") == "true" or problem_of(reply).get("replayed") is True


def _verdict(reply: Reply, code: str, problem: Mapping[str, Any]) -> Verdict:
    status = reply.status
    if 200 <= status < 300 or status == 303:
        return Verdict.YES
    if code == "answer_not_kept":
        return _of_the_answer_not_kept(problem)
    if status >= 400 and reply.header("idempotent-replayed") == "true":
        return Verdict.NO if status < 500 else Verdict.IN_DOUBT
    if status in ASK_AGAIN or (status == 409 and _in_progress(reply, code)):
        if problem.get("retryable") is False:
            return Verdict.IN_DOUBT if status >= 500 else Verdict.NO_THIS_TIME
        return Verdict.AGAIN if status == 429 or code in NOTHING_DONE else Verdict.AGAIN_IN_DOUBT
    if 400 <= status < 500:
        return Verdict.NO if code == EXPIRED else Verdict.NO_THIS_TIME
    if status in (307, 308):
        return Verdict.NO_THIS_TIME
    return Verdict.IN_DOUBT


def _in_progress(reply: Reply, code: str) -> bool:
    """A 409 of the key and not of the handler: it is called so, or it has no code and says when to ask again."""
    return code == "key_in_progress" or (code == "http_409" and reply.header("retry-after") is not None)


def _of_the_answer_not_kept(problem: Mapping[str, Any]) -> Verdict:
    """The request was carried out; only its answer is gone. What that answer was may be told."""
    figures = problem.get("figures")
    first = figures.get("status") if isinstance(figures, dict) else None
    if not isinstance(first, int) or first < 400:
        return Verdict.YES
    return Verdict.NO if first < 500 else Verdict.IN_DOUBT
