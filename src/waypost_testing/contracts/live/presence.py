"""The contract of presence: per device, the best state counts, and a state that is not refreshed expires."""

from __future__ import annotations

from collections.abc import Callable

from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Span, seconds
from waypost.ports.live.presence import HERE_FOR, SYNCING_FOR, Presence, PresenceState

ORG, ANN, BOB = OrgId("acme"), UserId("ann"), UserId("bob")
PHONE, LAPTOP = DeviceId("phone"), DeviceId("laptop")
AdvanceTime = Callable[[Span], None]


async def state(presence: Presence, user: UserId = ANN) -> PresenceState:
    return (await presence.of([user]))[user]


class PresenceContract:
    async def test_nobody_is_here_who_said_nothing(self, presence: Presence) -> None:
        assert await presence.of([ANN, BOB]) == {ANN: PresenceState.OFFLINE, BOB: PresenceState.OFFLINE}
        assert await presence.of([]) == {}

    async def test_the_best_of_somebodys_devices_counts(self, presence: Presence) -> None:
        presence.set(ORG, ANN, PHONE, PresenceState.SYNCING)
        assert await state(presence) is PresenceState.SYNCING
        presence.set(ORG, ANN, LAPTOP, PresenceState.ONLINE)
        assert await state(presence) is PresenceState.ONLINE
        presence.set(ORG, ANN, LAPTOP, PresenceState.OFFLINE)
        assert await state(presence) is PresenceState.SYNCING
        presence.set(ORG, ANN, PHONE, PresenceState.OFFLINE)
        assert await state(presence) is PresenceState.OFFLINE
        assert await state(presence, BOB) is PresenceState.OFFLINE

    async def test_what_is_not_said_again_in_time_expires(self, presence: Presence, pass_by: AdvanceTime) -> None:
        presence.set(ORG, ANN, PHONE, PresenceState.ONLINE)
        presence.set(ORG, BOB, PHONE, PresenceState.SYNCING)
        pass_by(Span(HERE_FOR - seconds(1)))
        assert await state(presence) is PresenceState.ONLINE
        pass_by(seconds(2))
        assert await state(presence) is PresenceState.OFFLINE
        assert await state(presence, BOB) is PresenceState.SYNCING
        pass_by(SYNCING_FOR)
        assert await state(presence, BOB) is PresenceState.OFFLINE

    async def test_who_listens_hears_of_whom_something_was_said(self, presence: Presence) -> None:
        with presence.listen() as watch:
            assert await watch.wait(seconds(0)) is False
            presence.set(ORG, ANN, PHONE, PresenceState.ONLINE)
            presence.set(ORG, ANN, LAPTOP, PresenceState.ONLINE)
            assert await watch.wait(seconds(5)) is True
            assert list(watch.named()) == [(ORG, ANN)]
            assert list(watch.named()) == []
