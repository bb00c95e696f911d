"""The contract of who is here: per device, the best of them counts, and what nobody repeats expires."""

from __future__ import annotations

from collections.abc import Callable

from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Span, seconds
from waypost.ports.whereabouts import HERE_FOR, SYNCING_FOR, Presence, Whereabouts

ORG, ANN, BOB = OrgId("acme"), UserId("ann"), UserId("bob")
PHONE, LAPTOP = DeviceId("phone"), DeviceId("laptop")
Wait = Callable[[Span], None]


async def state(whereabouts: Whereabouts, user: UserId = ANN) -> Presence:
    return (await whereabouts.of([user]))[user]


class WhereaboutsContract:
    async def test_nobody_is_here_who_said_nothing(self, whereabouts: Whereabouts) -> None:
        assert await whereabouts.of([ANN, BOB]) == {ANN: Presence.OFFLINE, BOB: Presence.OFFLINE}
        assert await whereabouts.of([]) == {}

    async def test_the_best_of_somebodys_devices_counts(self, whereabouts: Whereabouts) -> None:
        whereabouts.say(ORG, ANN, PHONE, Presence.SYNCING)
        assert await state(whereabouts) is Presence.SYNCING
        whereabouts.say(ORG, ANN, LAPTOP, Presence.ONLINE)
        assert await state(whereabouts) is Presence.ONLINE
        whereabouts.say(ORG, ANN, LAPTOP, Presence.OFFLINE)
        assert await state(whereabouts) is Presence.SYNCING
        whereabouts.say(ORG, ANN, PHONE, Presence.OFFLINE)
        assert await state(whereabouts) is Presence.OFFLINE
        assert await state(whereabouts, BOB) is Presence.OFFLINE

    async def test_what_is_not_said_again_in_time_expires(self, whereabouts: Whereabouts, pass_by: Wait) -> None:
        whereabouts.say(ORG, ANN, PHONE, Presence.ONLINE)
        whereabouts.say(ORG, BOB, PHONE, Presence.SYNCING)
        pass_by(Span(HERE_FOR - seconds(1)))
        assert await state(whereabouts) is Presence.ONLINE
        pass_by(seconds(2))
        assert await state(whereabouts) is Presence.OFFLINE
        assert await state(whereabouts, BOB) is Presence.SYNCING
        pass_by(SYNCING_FOR)
        assert await state(whereabouts, BOB) is Presence.OFFLINE

    async def test_who_listens_hears_of_whom_something_was_said(self, whereabouts: Whereabouts) -> None:
        with whereabouts.listen() as watch:
            assert await watch.wait(seconds(0)) is False
            whereabouts.say(ORG, ANN, PHONE, Presence.ONLINE)
            whereabouts.say(ORG, ANN, LAPTOP, Presence.ONLINE)
            assert await watch.wait(seconds(5)) is True
            assert list(watch.named()) == [(ORG, ANN)]
            assert list(watch.named()) == []
