"""What is asked: checked, and turned into bytes once, so that a retry is the same bytes again."""

from __future__ import annotations

import hashlib
import json as json_text
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import ClientError

#: The header of the key, in lower case.
KEY_HEADER = "idempotency-key"
#: The header of the intent's own end, in lower case.
EXPIRES_HEADER = "idempotency-expires"

#: What the transport writes itself.
_OWN = frozenset({"connection", "content-length", "host", "transfer-encoding"})
_TARGET = re.compile(r"/[\x21-\x7e]*\Z")
_METHOD = re.compile(r"[A-Z]{1,16}\Z")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff]*\Z")
_KEY = re.compile(r"[\x21-\x7e]{1,255}\Z")


@dataclass(frozen=True)
class Request:
    """One request, ready to be sent any number of times."""

    method: str
    #: Path and query, from the slash on.
    path: str
    #: Names in lower case, without key and expiry.
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def digest(self) -> str:
        """What must be the same in every retry: method, path, principal and body. SHA-256, in hex."""
        principal = next((value for name, value in self.headers if name == "principal"), "")
        sha = hashlib.sha256()
        for part in (self.method.encode(), self.path.encode(), principal.encode("latin-1"), self.body):
            sha.update(len(part).to_bytes(8, "big"))
            sha.update(part)
        return sha.hexdigest()


def make_request(method: str, path: str, headers: Mapping[str, str], json: Any, body: bytes | None) -> tuple[Request, str | None]:
    """The request, and the key that its headers carry, if they do."""
    if not _METHOD.match(method) or not _TARGET.match(path):
        raise invalid(f"{method!r} {path!r} is no method in capitals and path from the slash on")
    lines = header_lines(headers)
    key = lines.pop(KEY_HEADER, None)
    if EXPIRES_HEADER in lines:
        raise invalid("Idempotency-Expires stands among the headers, and belongs in expires_at")
    if body is None:
        body = b"" if json is None else _encoded(json)
        if json is not None:
            lines.setdefault("content-type", "application/json")
    elif json is not None:
        raise invalid("both json and body were given")
    return Request(method, path, tuple(lines.items()), bytes(body)), key


def header_lines(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with names in lower case, each once."""
    lines: dict[str, str] = {}
    for name, value in headers.items():
        lower = name.lower()
        if not _NAME.match(name) or not isinstance(value, str) or not _VALUE.match(value):
            raise invalid(f"the header {name!r} can't be sent")
        if lower in lines or lower in _OWN:
            raise invalid(f"the header {name!r} is there twice, or is the transport's own")
        lines[lower] = value
    return lines


def checked_key(key: str) -> str:
    """The key, if a server would take it for one."""
    if not isinstance(key, str) or not _KEY.match(key):
        raise ClientError(
            "key_invalid", "The idempotency key is not 1 to 255 visible ASCII characters", "Give another, or none: one is made then"
        )
    return key


def invalid(wrong: str) -> ClientError:
    """A request or a setting that makes no sense."""
    return ClientError("request_invalid", f"{wrong[0].upper()}{wrong[1:]}", "Correct the call")


def _encoded(json: Any) -> bytes:
    try:
        return json_text.dumps(json, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise invalid(f"the body is no JSON: {error}") from error
