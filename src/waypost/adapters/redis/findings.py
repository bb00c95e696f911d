"""Checks of a Redis server, for `waypost doctor`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from waypost.adapters.redis.address import InvalidRedisAddress, parse
from waypost.adapters.redis.client import TROUBLE, RedisClient, opened

RedisFinding: TypeAlias = tuple[bool, str, str]
"""Whether it is fine, what was found, and what to do about it."""

OLDEST = (7, 0)
ASKED = 10
SLOW = 0.005
FULL = 0.9


async def findings(redis_url: str) -> Sequence[RedisFinding]:
    """Version, round trip, eviction, memory, persistence; one finding if it cannot be reached."""
    try:
        address = parse(redis_url)
    except InvalidRedisAddress as wrong:
        return [(False, f"redis: the address cannot be read: {wrong}", "correct WAYPOST_REDIS_URL")]
    try:
        async with opened(address) as client, client.listening("waypost:doctor"):
            took = await _round_trip(client)
            known = {**await client.info("server"), **await client.info("memory"), **await client.info("persistence")}
    except TROUBLE as trouble:
        why = str(trouble) or type(trouble).__name__
        remedy = "is it running, does its password fit, may its user SSUBSCRIBE? Waypost goes on without it, by polling"
        return [(False, f"redis: {address.shown} does not answer: {why}", remedy)]
    return [_speed(address.shown, took), *_judged(known)]


async def _round_trip(client: RedisClient) -> float:
    """The median of several, in seconds."""
    took = []
    for _ in range(ASKED):
        began = time.perf_counter()
        (answer,) = await client.run([("EXISTS", "presence:waypost-doctor")])  # a key that our user may read
        if isinstance(answer, Exception):
            raise answer
        took.append(time.perf_counter() - began)
    return sorted(took)[ASKED // 2]


def _speed(where: str, took: float) -> RedisFinding:
    text = f"redis: {where} answers in {took * 1000:.1f} ms"
    return took <= SLOW, text, "wake-ups will be late: is it near, and is its machine busy?"


def _judged(known: Mapping[str, Any]) -> Iterator[RedisFinding]:
    name = "valkey" if known.get("server_name") == "valkey" else "redis"
    version = str(known.get("valkey_version") or known.get("redis_version", "0"))
    new_enough = tuple(map(int, version.split(".")[:2])) >= OLDEST
    yield new_enough, f"{name}: version {version}", "7.0 or newer is needed, for sharded channels"
    yield _eviction(str(known.get("maxmemory_policy", "noeviction")), int(known.get("maxmemory", 0)))
    yield _memory(int(known.get("used_memory", 0)), int(known.get("maxmemory", 0)))
    yield _persistence(known)


def _eviction(policy: str, limit: int) -> RedisFinding:
    """All keys expire or are informative, so any eviction is harmless, but `noeviction` refuses writes when full."""
    if not limit or policy != "noeviction":
        return True, f"redis: eviction {policy}", ""
    return False, "redis: noeviction with a memory limit", "full, it refuses writes: set maxmemory-policy volatile-ttl"


def _memory(used: int, limit: int) -> RedisFinding:
    shown = f"redis: {used / 2**20:.0f} MB used" + (f" of {limit / 2**20:.0f}" if limit else "")
    return not limit or used < FULL * limit, shown, "it is nearly full: give it more, or a database of its own"


def _persistence(known: Mapping[str, Any]) -> RedisFinding:
    """Not needed, but failing persistence makes Redis refuse writes."""
    if known.get("rdb_last_bgsave_status") != "ok" or known.get("aof_last_write_status", "ok") != "ok":
        return (
            False,
            "redis: it fails to save to disk",
            "is its disk full? Waypost needs no persistence: save '' is enough",
        )
    kept = "to disk, which is not needed" if known.get("aof_enabled") else "nothing that must be kept is there"
    return True, f"redis: persistence: {kept}", ""
