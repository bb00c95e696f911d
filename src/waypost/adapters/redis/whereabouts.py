"""Who is here, written to Redis for other systems and for processes that start; between processes hints tell it.

`session:{user}` (device → gateway), `presence:{user}` and `sync_status:{user}` expire by themselves. Nobody who asks
waits for Redis: what it knew is read once, when the line comes up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from waypost.adapters.redis.client import Client, Command
from waypost.adapters.redis.line import Line
from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import as_seconds
from waypost.ports.whereabouts import HERE_FOR, SYNCING_FOR, Presence, Watch, Whereabouts

READ_AT_MOST = 100_000
"""People that a process that starts asks about."""
_READ_AT_ONCE = 500
_HERE, _SYNCING = round(as_seconds(HERE_FOR)), round(as_seconds(SYNCING_FOR))


class Known(Whereabouts, Protocol):
    """What this process knows, and how it learns from elsewhere."""

    def best(self, user: UserId) -> Presence:
        """Of somebody's devices."""

    def learn(self, user: UserId, device: DeviceId, presence: Presence) -> None:
        """Of a device, without telling anybody."""


class RedisWhereabouts:
    def __init__(self, known: Known, line: Line, gateway: str) -> None:
        self._known = known
        self._line = line
        self._gateway = gateway
        self.read = asyncio.Event()
        """Set when this process knows what Redis knew as it started."""
        line.whenever_up(self._read)

    def say(self, org: OrgId, user: UserId, device: DeviceId, presence: Presence) -> None:
        self._known.say(org, user, device, presence)
        self._line.write(f"{user} {device}", self._words(user, device, presence))

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Presence]:
        return await self._known.of(users)

    def listen(self) -> AbstractContextManager[Watch]:
        return self._known.listen()

    def _words(self, user: UserId, device: DeviceId, presence: Presence) -> list[Command]:
        session, syncing, here = f"session:{user}", f"sync_status:{user}", f"presence:{user}"
        match presence:
            case Presence.ONLINE:
                return [
                    ("HSET", session, device, self._gateway),
                    ("EXPIRE", session, _HERE),
                    ("SET", here, presence.value, "EX", _HERE),
                    ("DEL", syncing),
                ]
            case Presence.SYNCING:
                return [("HDEL", session, device), ("SET", syncing, presence.value, "EX", _SYNCING)]
            case Presence.OFFLINE:
                return [("HDEL", session, device), *self._gone(user, syncing, here)]

    def _gone(self, user: UserId, syncing: str, here: str) -> list[Command]:
        """What another device of theirs says stays."""
        best = self._known.best(user)
        return [
            ("DEL", key)
            for key, state in ((here, Presence.ONLINE), (syncing, Presence.SYNCING))
            if best not in (state, Presence.ONLINE)
        ]

    async def _read(self, client: Client) -> None:
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
            self._known.learn(user, DeviceId(device.decode(errors="replace")), Presence.ONLINE)
