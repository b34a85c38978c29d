"""Keys: UUIDs of version 7 (RFC 9562), so that a server can tell how old one is."""

from __future__ import annotations

import uuid


def key_of(now_ms: int, chance: bytes) -> str:
    """The key of an instant and 10 random bytes, of which 74 bits count."""
    number = (now_ms & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(chance[:10], "big")
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=number))
