"""Presence in Redis, for other systems and for starting processes; running processes share it by hints.

`session:{user}` (device → gateway), `presence:{user}` and `sync_status:{user}` expire by themselves. No read waits for
Redis: its contents are read once, when the connection comes up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from waypost.adapters.redis.client import Command, RedisClient
from waypost.adapters.redis.connection import RedisConnection
from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import as_seconds
from waypost.ports.live.presence import HERE_FOR, SYNCING_FOR, Presence, PresenceListener, PresenceState

READ_AT_MOST = 100_000
"""Users that a starting process reads."""
_READ_AT_ONCE = 500
_HERE, _SYNCING = round(as_seconds(HERE_FOR)), round(as_seconds(SYNCING_FOR))


class PresenceCache(Presence, Protocol):
    """Presence as this process knows it."""

    def best(self, user: UserId) -> PresenceState:
        """The best state of a user's devices."""

    def learn(self, user: UserId, device: DeviceId, presence: PresenceState) -> None:
        """Record a device's state without publishing it."""


class RedisPresence:
    def __init__(self, known: PresenceCache, line: RedisConnection, gateway: str) -> None:
        self._known = known
        self._line = line
        self._gateway = gateway
        self.read = asyncio.Event()
        """Set once this process has read Redis's contents."""
        line.whenever_up(self._read)

    def set(self, org: OrgId, user: UserId, device: DeviceId, presence: PresenceState) -> None:
        self._known.set(org, user, device, presence)
        self._line.write(f"{user} {device}", self._words(user, device, presence))

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, PresenceState]:
        return await self._known.of(users)

    def listen(self) -> AbstractContextManager[PresenceListener]:
        return self._known.listen()

    def _words(self, user: UserId, device: DeviceId, presence: PresenceState) -> list[Command]:
        session, syncing, here = f"session:{user}", f"sync_status:{user}", f"presence:{user}"
        match presence:
            case PresenceState.ONLINE:
                return [
                    ("HSET", session, device, self._gateway),
                    ("EXPIRE", session, _HERE),
                    ("SET", here, presence.value, "EX", _HERE),
                    ("DEL", syncing),
                ]
            case PresenceState.SYNCING:
                return [("HDEL", session, device), ("SET", syncing, presence.value, "EX", _SYNCING)]
            case PresenceState.OFFLINE:
                return [("HDEL", session, device), *self._gone(user, syncing, here)]

    def _gone(self, user: UserId, syncing: str, here: str) -> list[Command]:
        """Keep a state that another device of the user still has."""
        best = self._known.best(user)
        return [
            ("DEL", key)
            for key, state in ((here, PresenceState.ONLINE), (syncing, PresenceState.SYNCING))
            if best not in (state, PresenceState.ONLINE)
        ]

    async def _read(self, client: RedisClient) -> None:
        keys = await client.keys("session:*", READ_AT_MOST)
        for first in range(0, len(keys), _READ_AT_ONCE):
            some = keys[first : first + _READ_AT_ONCE]
            answers = await client.run([("HKEYS", key) for key in some])
            for key, devices in zip(some, answers, strict=True):
                if isinstance(devices, list):
                    self._learn(UserId(key.partition(":")[2]), devices)
        self.read.set()

    def _learn(self, user: UserId, devices: Sequence[bytes]) -> None:
        for device in devices:
            self._known.learn(user, DeviceId(device.decode(errors="replace")), PresenceState.ONLINE)
