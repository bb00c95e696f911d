"""The contract of the list of who is to be told: nobody twice at once, nothing forgotten, no subscription too many."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from waypost.model.conversation import ConversationId, Position
from waypost.model.ids import UserId, WorkerId
from waypost.model.push import Dead, DeviceId, Dropped, Listener, PutOff, Subscription, Talk, Told, Verdict
from waypost.model.time import Instant, hours, minutes, seconds
from waypost.ports.push import Devices
from waypost.rules.push import Habits

T0 = Instant(1_760_000_000_000_000)
GRACE = Habits().grace
DUE = Instant(T0 + GRACE)
LEASE = minutes(1)
W1, W2 = WorkerId("w1"), WorkerId("w2")
ADA, BEN, CY = UserId("ada"), UserId("ben"), UserId("cy")
PHONE, TABLET = DeviceId("ben-phone"), DeviceId("ben-tablet")
AT_PHONE = Subscription("https://push.example.net/phone", "key-of-phone", "auth-of-phone")
AT_TABLET = Subscription("https://push.example.net/tablet", "key-of-tablet", "auth-of-tablet")
ANEW = Subscription("https://push.example.net/anew", "key-of-anew", "auth-of-anew")


class Ground(Protocol):
    """What a test of the list brings: the list, and the rest of the Ledger as far as it bears on it."""

    @property
    def devices(self) -> Devices: ...

    async def group(self, *members: UserId) -> ConversationId:
        """A conversation of an org whose people these are, named Lunch."""

    async def subscribe(self, user: UserId, device: DeviceId, subscription: Subscription | None) -> None:
        """A device as its user registers it; what was there before is replaced."""

    async def post(self, conversation: ConversationId, sender: UserId, words: str, now: Instant) -> Position:
        """A text, with the default habits."""

    async def read(self, conversation: ConversationId, user: UserId, upto: Position, now: Instant) -> None: ...

    async def mute(self, conversation: ConversationId, user: UserId) -> None: ...

    async def leave(self, conversation: ConversationId, user: UserId, now: Instant) -> None: ...

    async def connect(self, user: UserId, now: Instant) -> None: ...

    async def disconnect(self, user: UserId, now: Instant) -> None: ...


async def claim(ground: Ground, now: Instant = DUE, owner: WorkerId = W1, limit: int = 9) -> Sequence[Talk]:
    return await ground.devices.to_notify(owner, limit, LEASE, now)


async def claimed(ground: Ground, now: Instant = DUE) -> Talk:
    (talk,) = await claim(ground, now)
    return talk


async def settle(ground: Ground, talk: Talk, verdicts: Mapping[DeviceId, Verdict], look_again: Instant | None) -> bool:
    return await ground.devices.settle(
        talk, [(listening(talk, device), verdict) for device, verdict in verdicts.items()], look_again
    )


def listening(talk: Talk, device: DeviceId = PHONE) -> Listener:
    (listener,) = (each for each in talk.listeners if each.device_id == device)
    return listener


async def with_a_message(ground: Ground) -> ConversationId:
    """Ada has written to Ben, who has a phone that can be told."""
    await ground.subscribe(BEN, PHONE, AT_PHONE)
    conversation = await ground.group(ADA, BEN)
    await ground.post(conversation, ADA, "Soup?", T0)
    return conversation


class ClaimContract:
    async def test_a_message_makes_its_conversation_due_after_the_grace(self, ground: Ground) -> None:
        assert await ground.devices.next_notice() is None
        await with_a_message(ground)
        assert await ground.devices.next_notice() == DUE
        assert list(await claim(ground, Instant(DUE - 1))) == []
        assert len(await claim(ground)) == 1

    async def test_a_claim_says_who_could_be_told_of_what(self, ground: Ground) -> None:
        conversation = await with_a_message(ground)
        talk = await claimed(ground)
        assert (talk.conversation_id, talk.kind, talk.title) == (conversation, "group", "Lunch")
        assert (talk.latest, talk.sender, talk.words, talk.at) == (1, ADA, "Soup?", T0)
        assert talk.listeners == (
            Listener(
                device_id=PHONE,
                user_id=BEN,
                subscription=AT_PHONE,
                connected=False,
                seen_at=None,
                shown=Position(0),
                unread=1,
                muted=False,
            ),
        )

    async def test_more_messages_put_nothing_off(self, ground: Ground) -> None:
        conversation = await with_a_message(ground)
        await ground.post(conversation, ADA, "Or salad?", Instant(T0 + seconds(9)))
        talk = await claimed(ground)
        assert (talk.latest, talk.words, listening(talk).unread) == (2, "Or salad?", 2)

    async def test_two_who_ask_at_once_never_get_the_same(self, ground: Ground) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        for _ in range(6):
            await ground.post(await ground.group(ADA, BEN), ADA, "Soup?", T0)
        asked = await asyncio.gather(*(claim(ground, owner=owner, limit=4) for owner in (W1, W2)))
        got = [talk.conversation_id for talks in asked for talk in talks]
        assert len(got) == len(set(got))
        rest = await claim(ground)
        assert len(got) + len(rest) == 6

    async def test_the_longest_waiting_come_first(self, ground: Ground) -> None:
        conversations = [await ground.group(ADA, BEN) for _ in range(3)]
        for wait, conversation in zip((2, 0, 1), conversations, strict=True):
            await ground.post(conversation, ADA, "Soup?", Instant(T0 + seconds(wait)))
        later = Instant(DUE + seconds(5))
        got = [(await claim(ground, later, limit=1))[0].conversation_id for _ in range(3)]
        assert got == [conversations[1], conversations[2], conversations[0]]

    async def test_what_nobody_settles_is_due_again_when_the_lease_is_over(self, ground: Ground) -> None:
        await with_a_message(ground)
        first = await claimed(ground)
        over = Instant(DUE + LEASE)
        assert list(await claim(ground, Instant(over - 1), W2)) == []
        second = await claimed(ground, over)
        assert second.fence > first.fence

    async def test_a_message_during_a_claim_gives_it_to_nobody_else(self, ground: Ground) -> None:
        conversation = await with_a_message(ground)
        await claimed(ground)
        await ground.post(conversation, ADA, "Or salad?", DUE)
        assert list(await claim(ground, Instant(DUE + seconds(30)), W2)) == []

    async def test_what_people_did_shows(self, ground: Ground) -> None:
        conversation = await with_a_message(ground)
        await ground.connect(BEN, T0)
        await ground.read(conversation, BEN, Position(1), T0)
        await ground.mute(conversation, BEN)
        ben = listening(await claimed(ground))
        assert (ben.connected, ben.shown, ben.unread, ben.muted) == (True, 1, 0, True)

    async def test_who_was_there_is_known_by_when(self, ground: Ground) -> None:
        await with_a_message(ground)
        await ground.connect(BEN, T0)
        await ground.disconnect(BEN, Instant(T0 + seconds(3)))
        ben = listening(await claimed(ground))
        assert not ben.connected
        assert ben.seen_at is not None
        assert ben.seen_at >= T0

    async def test_only_devices_with_a_subscription_of_who_is_still_there_are_listed(self, ground: Ground) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.subscribe(BEN, TABLET, None)
        await ground.subscribe(CY, DeviceId("cy-phone"), ANEW)
        conversation = await ground.group(ADA, BEN, CY)
        await ground.post(conversation, ADA, "Soup?", T0)
        await ground.leave(conversation, CY, T0)
        assert [each.device_id for each in (await claimed(ground)).listeners] == [PHONE]


class SettleContract:
    async def test_what_is_said_is_not_due_again(self, ground: Ground) -> None:
        await with_a_message(ground)
        assert await settle(ground, await claimed(ground), {PHONE: Told(Position(1), DUE)}, None)
        assert await ground.devices.next_notice() is None
        assert list(await claim(ground, Instant(DUE + hours(9)))) == []

    async def test_it_is_due_again_when_somebody_must_look(self, ground: Ground) -> None:
        await with_a_message(ground)
        later = Instant(DUE + minutes(7))
        assert await settle(ground, await claimed(ground), {}, later)
        assert await ground.devices.next_notice() == later
        assert len(await claim(ground, later)) == 1

    async def test_a_message_that_came_since_the_claim_keeps_it_due(self, ground: Ground) -> None:
        conversation = await with_a_message(ground)
        talk = await claimed(ground)
        await ground.post(conversation, ADA, "Or salad?", DUE)
        assert await settle(ground, talk, {PHONE: Told(talk.latest, DUE)}, Instant(DUE + hours(1)))
        again = await claimed(ground, Instant(DUE + GRACE))
        assert (again.latest, listening(again).told) == (2, 1)

    async def test_a_verdict_is_known_at_the_next_claim(self, ground: Ground) -> None:
        await ground.subscribe(BEN, TABLET, AT_TABLET)
        await with_a_message(ground)
        until = Instant(DUE + hours(2))
        verdicts: dict[DeviceId, Verdict] = {PHONE: Told(Position(1), DUE), TABLET: PutOff(until, "HTTP 429")}
        await settle(ground, await claimed(ground), verdicts, DUE)
        talk = await claimed(ground)
        phone, tablet = listening(talk), listening(talk, TABLET)
        assert (phone.told, phone.told_at, phone.not_before, phone.failures) == (1, DUE, None, 0)
        assert (tablet.told, tablet.told_at, tablet.not_before, tablet.failures) == (0, None, until, 1)

    async def test_failures_are_counted_until_one_goes_well(self, ground: Ground) -> None:
        await with_a_message(ground)
        for _ in range(3):
            await settle(ground, await claimed(ground), {PHONE: PutOff(DUE, "HTTP 503")}, DUE)
        talk = await claimed(ground)
        assert listening(talk).failures == 3
        await settle(ground, talk, {PHONE: Dropped(Position(1), "HTTP 413")}, DUE)
        after = listening(await claimed(ground))
        assert (after.failures, after.told, after.told_at) == (0, 1, None)

    async def test_a_device_is_left_alone_in_every_conversation_and_told_of_each(self, ground: Ground) -> None:
        await with_a_message(ground)
        until = Instant(DUE + hours(2))
        await settle(ground, await claimed(ground), {PHONE: PutOff(until, "HTTP 429")}, None)
        await ground.post(await ground.group(ADA, BEN), ADA, "Salad?", T0)
        other = await claimed(ground)
        assert listening(other).not_before == until
        await settle(ground, other, {PHONE: Told(Position(1), DUE)}, None)
        await ground.post(await ground.group(ADA, BEN), ADA, "Tea?", T0)
        assert listening(await claimed(ground)).told == 0

    async def test_two_people_may_call_their_devices_alike(self, ground: Ground) -> None:
        await ground.subscribe(BEN, PHONE, AT_PHONE)
        await ground.subscribe(CY, PHONE, AT_TABLET)
        await ground.post(await ground.group(ADA, BEN, CY), ADA, "Soup?", T0)
        talk = await claimed(ground)
        of = {each.user_id: each for each in talk.listeners}
        await ground.devices.settle(talk, [(of[BEN], Told(Position(1), DUE)), (of[CY], Dead())], DUE)
        (ben,) = (await claimed(ground)).listeners
        assert (ben.user_id, ben.subscription, ben.told) == (BEN, AT_PHONE, 1)

    async def test_a_late_word_changes_nothing(self, ground: Ground) -> None:
        await with_a_message(ground)
        late = await claimed(ground)
        over = Instant(DUE + LEASE)
        next_ = await claimed(ground, over)
        assert not await settle(ground, late, {PHONE: Told(Position(1), DUE)}, None)
        assert await settle(ground, next_, {}, over)
        assert listening(await claimed(ground, over)).told == 0

    async def test_a_dead_subscription_is_removed_and_the_other_device_stays(self, ground: Ground) -> None:
        await ground.subscribe(BEN, TABLET, AT_TABLET)
        await with_a_message(ground)
        await settle(ground, await claimed(ground), {PHONE: Dead()}, DUE)
        assert [each.device_id for each in (await claimed(ground)).listeners] == [TABLET]

    async def test_a_late_word_of_a_dead_subscription_is_taken(self, ground: Ground) -> None:
        await with_a_message(ground)
        late = await claimed(ground)
        over = Instant(DUE + LEASE)
        next_ = await claimed(ground, over)
        assert not await settle(ground, late, {PHONE: Dead()}, None)
        await settle(ground, next_, {}, over)
        assert [talk.listeners for talk in await claim(ground, over)] == [()]

    async def test_a_subscription_that_came_since_is_not_taken_for_the_dead_one(self, ground: Ground) -> None:
        await with_a_message(ground)
        talk = await claimed(ground)
        await ground.subscribe(BEN, PHONE, ANEW)
        await settle(ground, talk, {PHONE: Dead()}, DUE)
        assert listening(await claimed(ground)).subscription == ANEW


class DevicesContract(ClaimContract, SettleContract):
    """Inherit it, and give it a fixture `ground`."""
