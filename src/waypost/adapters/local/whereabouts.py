"""Who is here, kept in each process of one machine and told to the others by hints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Instant, Span
from waypost.ports.clock import Clock
from waypost.ports.hints import PRESENCE, Ear, Hints
from waypost.ports.whereabouts import HERE_FOR, SYNCING_FOR, Presence

_LASTS = {Presence.SYNCING: SYNCING_FOR, Presence.ONLINE: HERE_FOR}
_BEST = (Presence.ONLINE, Presence.SYNCING)
SWEEP_EVERY = 1000
"""News, after which what has expired is let go: a process that was killed takes nothing back."""


class _Watch:
    def __init__(self, ear: Ear, whereabouts: LocalWhereabouts) -> None:
        self._ear = ear
        self._whereabouts = whereabouts

    async def wait(self, timeout: Span) -> bool:
        return await self._ear.wait(timeout)

    def named(self) -> list[tuple[OrgId, UserId]]:
        return self._whereabouts.hear(self._ear.named())


class LocalWhereabouts:
    def __init__(self, hints: Hints, clock: Clock) -> None:
        self._hints = hints
        self._clock = clock
        self._known: dict[UserId, dict[DeviceId, tuple[Presence, Instant]]] = {}
        self._news = 0

    def say(self, org: OrgId, user: UserId, device: DeviceId, presence: Presence) -> None:
        self.learn(user, device, presence)
        self._hints.give([f"{PRESENCE}:{presence.value} {org} {user} {device}"])

    def listen(self) -> AbstractContextManager[_Watch]:
        return self._listening()

    @contextmanager
    def _listening(self) -> Iterator[_Watch]:
        with self._hints.listen(PRESENCE) as ear:
            yield _Watch(ear, self)

    def hear(self, names: Sequence[str]) -> list[tuple[OrgId, UserId]]:
        about: dict[tuple[OrgId, UserId], None] = {}
        for name in names:
            presence, org, user, device = name.split(" ", 3)
            self.learn(UserId(user), DeviceId(device), Presence(presence))
            about[OrgId(org), UserId(user)] = None
        return list(about)

    def learn(self, user: UserId, device: DeviceId, presence: Presence) -> None:
        devices = self._known.setdefault(user, {})
        if presence is Presence.OFFLINE:
            devices.pop(device, None)
        else:
            devices[device] = (presence, Instant(self._clock.now() + _LASTS[presence]))
        if not devices:
            del self._known[user]
        self._news += 1
        if self._news % SWEEP_EVERY == 0:
            self._sweep()

    def _sweep(self) -> None:
        now = self._clock.now()
        for user, devices in list(self._known.items()):
            left = {device: known for device, known in devices.items() if known[1] > now}
            if left:
                self._known[user] = left
            else:
                del self._known[user]

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, Presence]:
        return {user: self.best(user) for user in users}

    def best(self, user: UserId) -> Presence:
        now = self._clock.now()
        current = {presence for presence, until in self._known.get(user, {}).values() if until > now}
        return next((presence for presence in _BEST if presence in current), Presence.OFFLINE)
