"""Publishes quota and throttle under keys that other systems read; permits never come from here."""

from __future__ import annotations

from importlib.resources import files

from waypost.adapters.redis.client import Command
from waypost.adapters.redis.connection import RedisConnection
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules.limits import send_pace
from waypost.rules.limits.send_pace import Permit

KEYS = "whatsapp:ratelimit"

_SCRIPT = files("waypost.adapters.redis").joinpath("lua", "counter.lua").read_text()


class RedisCounters:
    def __init__(self, line: RedisConnection) -> None:
        self._line = line

    def drawn(self, org: OrgId, quota: Permit) -> None:
        self._line.write(f"drawn {org}", [_count(org, quota, "drawn"), _limit(org, quota)])

    def stands(self, org: OrgId, quota: Permit, throttled_until: Instant | None) -> None:
        words = [_count(org, quota, "stands"), _limit(org, quota), _throttle(org, throttled_until)]
        self._line.write(f"stands {org}", words)


def _count(org: OrgId, quota: Permit, how: str) -> Command:
    ends = _milliseconds(send_pace.resets_at(quota))
    return "EVAL", _SCRIPT, 1, f"{KEYS}:counter:{org}", quota.used, ends, how


def _limit(org: OrgId, quota: Permit) -> Command:
    key = f"{KEYS}:limit:{org}"
    return ("DEL", key) if quota.most is None else ("SET", key, quota.most)


def _throttle(org: OrgId, until: Instant | None) -> Command:
    """The end of the throttle in milliseconds since 1970; no key if nothing is throttled."""
    key = f"{KEYS}:throttle:{org}"
    if until is None:
        return "DEL", key
    return "SET", key, _milliseconds(until), "PXAT", _milliseconds(until)


def _milliseconds(moment: Instant) -> int:
    return -(-moment // 1000)
