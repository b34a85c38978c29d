"""How long and how often to ask again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timezone
from email.utils import parsedate_to_datetime

from .request import invalid

#: The longest wait that is read from a Retry-After: a year. Whoever says more is not waited for either.
RETRY_AFTER_MS_MAX = 365 * 24 * 3_600_000


@dataclass(frozen=True)
class Retries:
    """The bounds of one call of ``send``. All in milliseconds, but for the number of attempts."""

    #: How long one attempt may take, connecting included.
    timeout_ms: int = 10_000
    #: How long all attempts and the waits between them may take.
    deadline_ms: int = 90_000
    attempts_max: int = 12
    #: The first wait is between half of this and this; each further one is between half of twice as much and that.
    backoff_min_ms: int = 200
    backoff_max_ms: int = 10_000

    def __post_init__(self) -> None:
        if min(self.timeout_ms, self.deadline_ms, self.attempts_max, self.backoff_min_ms) < 1:
            raise invalid("a bound of retries is below 1")
        if self.backoff_max_ms < self.backoff_min_ms:
            raise invalid("backoff_max_ms is below backoff_min_ms")

    def wait_ms(self, attempt: int, retry_after_ms: int | None, random: float) -> int:
        """The wait after an attempt, counted from 1. ``random`` is from 0 up to 1.

        A server's Retry-After is a lower bound. Something random comes on top: a crowd that comes back in step is refused in step.
        """
        step = min(self.backoff_max_ms, self.backoff_min_ms << min(attempt - 1, 32))
        jitter = int(random * (step / 2))
        return max(step // 2 + jitter, (retry_after_ms or 0) + jitter)


def retry_after_ms(value: str | None, date: str | None, now_ms: int) -> int | None:
    """What a Retry-After means, as seconds or as an HTTP date; none if it is neither.

    An instant is compared with the same answer's ``Date``, where there is one: the two clocks may differ.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(int(text[:12]) * 1_000, RETRY_AFTER_MS_MAX)
    until = _instant_ms(text)
    if until is None:
        return None
    since = _instant_ms(date.strip()) if date is not None else None
    return min(max(until - (now_ms if since is None else since), 0), RETRY_AFTER_MS_MAX)


def _instant_ms(text: str) -> int | None:
    try:
        instant = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=timezone.utc)
    return int(instant.timestamp()) * 1_000
