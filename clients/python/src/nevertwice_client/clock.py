"""Time, as far as the client needs it. Tests put another clock in its place, so none of them waits."""

from __future__ import annotations

import threading
import time


class Clock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since 1970. An intent's expiry is compared with it."""
        return time.time_ns() // 1_000_000

    def elapsed_ms(self) -> int:
        """Milliseconds since some instant, never turned back. Deadlines are measured by it."""
        return time.monotonic_ns() // 1_000_000

    def sleep(self, wait_ms: int, cancel: threading.Event | None) -> None:
        """Waits, or returns sooner if ``cancel`` is set."""
        if cancel is None:
            time.sleep(wait_ms / 1_000)
        else:
            cancel.wait(wait_ms / 1_000)
