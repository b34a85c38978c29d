"""What the client itself refuses, before anything is sent."""

from __future__ import annotations


class ClientError(Exception):
    """A refusal of the client. Nothing was sent.

    ``code`` is stable; the text is for people and may change. The codes:

    - ``request_invalid``: a path, a header, a body or a setting that can't be sent.
    - ``key_invalid``: a key that is not 1 to 255 visible ASCII characters.
    - ``key_conflict``: two different keys for one intent, or a key that every request would share.
    - ``request_changed``: another request under the name, and so the key, of an intent that is not finished.
    - ``still_unknown``: an intent was to be finished whose outcome is not known.
    - ``store_failed``: the store can't be read or written, or holds what is no record.
    """

    def __init__(self, code: str, wrong: str, next_step: str) -> None:
        super().__init__(f"{wrong}. Nothing was sent. {next_step}.")
        self.code = code
