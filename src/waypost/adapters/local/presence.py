"""Presence, kept in each process of one machine and shared by hints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Instant, Span
from waypost.ports.live.presence import HERE_FOR, SYNCING_FOR, PresenceState
from waypost.ports.platform.clock import Clock
from waypost.ports.platform.hints import PRESENCE, Hints, Listener

_LASTS = {PresenceState.SYNCING: SYNCING_FOR, PresenceState.ONLINE: HERE_FOR}
_BEST = (PresenceState.ONLINE, PresenceState.SYNCING)
SWEEP_EVERY = 1000
"""Updates between two sweeps of expired presence: a killed process sends no OFFLINE."""


class _PresenceListener:
    def __init__(self, listener: Listener, presence_cache: LocalPresence) -> None:
        self._listener = listener
        self._presence = presence_cache

    async def wait(self, timeout: Span) -> bool:
        return await self._listener.wait(timeout)

    def named(self) -> list[tuple[OrgId, UserId]]:
        return self._presence.apply(self._listener.named())


class LocalPresence:
    def __init__(self, hints: Hints, clock: Clock) -> None:
        self._hints = hints
        self._clock = clock
        self._known: dict[UserId, dict[DeviceId, tuple[PresenceState, Instant]]] = {}
        self._news = 0

    def set(self, org: OrgId, user: UserId, device: DeviceId, presence: PresenceState) -> None:
        self.learn(user, device, presence)
        self._hints.give([f"{PRESENCE}:{presence.value} {org} {user} {device}"])

    def listen(self) -> AbstractContextManager[_PresenceListener]:
        return self._listening()

    @contextmanager
    def _listening(self) -> Iterator[_PresenceListener]:
        with self._hints.listen(PRESENCE) as listener:
            yield _PresenceListener(listener, self)

    def apply(self, names: Sequence[str]) -> list[tuple[OrgId, UserId]]:
        about: dict[tuple[OrgId, UserId], None] = {}
        for name in names:
            presence, org, user, device = name.split(" ", 3)
            self.learn(UserId(user), DeviceId(device), PresenceState(presence))
            about[OrgId(org), UserId(user)] = None
        return list(about)

    def learn(self, user: UserId, device: DeviceId, presence: PresenceState) -> None:
        devices = self._known.setdefault(user, {})
        if presence is PresenceState.OFFLINE:
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

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, PresenceState]:
        return {user: self.best(user) for user in users}

    def best(self, user: UserId) -> PresenceState:
        now = self._clock.now()
        current = {presence for presence, until in self._known.get(user, {}).values() if until > now}
        return next((presence for presence in _BEST if presence in current), PresenceState.OFFLINE)
