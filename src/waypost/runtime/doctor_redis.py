"""What `waypost doctor` says of Redis."""

from __future__ import annotations

from collections.abc import Sequence


async def findings(redis_url: str) -> Sequence[tuple[bool, str, str]]:
    """Whether it is good, what it is, and what to do about it; nothing where there is no address."""
    if not redis_url.strip():
        return []
    try:
        from waypost.adapters.redis.findings import findings as found  # noqa: PLC0415  # only where there is one
    except ImportError:
        return [(False, "redis: its library is missing", "run `pip install '.[redis]'` in a clone of Waypost")]
    return await found(redis_url)
