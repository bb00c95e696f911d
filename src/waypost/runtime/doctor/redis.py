"""`waypost doctor` for Redis."""

from __future__ import annotations

from collections.abc import Sequence


async def findings(redis_url: str) -> Sequence[tuple[bool, str, str]]:
    """Whether it is good, the finding, and what to do; empty without an address."""
    if not redis_url.strip():
        return []
    try:
        from waypost.adapters.redis.findings import findings as found  # noqa: PLC0415  # only with Redis
    except ImportError:
        return [(False, "redis: its library is missing", "run `pip install '.[redis]'` in a clone of Waypost")]
    return await found(redis_url)
