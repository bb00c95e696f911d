"""The contracts of hints and presence on Redis, and the keys that other systems use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from redis.asyncio import Redis as Library

from tests.conformance.redis.machines import DEADLINE, Machine, Makes, machines_on
from waypost.adapters.local.clock import SystemClock
from waypost.adapters.local.hints import ProcessHints
from waypost.adapters.local.presence import LocalPresence
from waypost.adapters.redis.counters import RedisCounters
from waypost.adapters.redis.presence import RedisPresence
from waypost.model.chat import DeviceId
from waypost.model.ids import OrgId, UserId
from waypost.model.time import Instant, Span, hours, minutes, seconds
from waypost.ports.live.presence import PresenceState
from waypost.ports.platform.hints import OUTBOX
from waypost.rules.limits.send_pace import Permit, quota_of
from waypost_testing.clock import ManualClock
from waypost_testing.contracts.live.presence import PresenceContract
from waypost_testing.contracts.platform.hints import NOW, SOON, HintsContract, LocalBroadcastContract, TwoHints

ORG, ANN, PHONE, LAPTOP = OrgId("acme"), UserId("ann"), DeviceId("phone"), DeviceId("laptop")


@pytest.fixture
async def machines(redis_url: str) -> AsyncIterator[Makes]:
    async with machines_on(redis_url) as makes:
        yield makes


@pytest.fixture
async def here(machines: Makes) -> Machine:
    return await machines()


@pytest.fixture
async def library(redis_url: str) -> AsyncIterator[Library]:
    async with Library.from_url(redis_url, decode_responses=True, driver_info=None) as client:
        yield client


class TestRedisHints(HintsContract, LocalBroadcastContract):
    @pytest.fixture
    async def two_hints(self, machines: Makes) -> TwoHints:
        return (await machines()).hints, (await machines()).hints

    @pytest.fixture
    def hints(self, two_hints: TwoHints) -> ProcessHints:
        return two_hints[0]  # type: ignore[return-value]  # made above

    @pytest.mark.may_block("it looks into a folder of sockets, which takes microseconds")
    async def test_neighbours_hear_by_datagram_only_and_other_machines_by_redis(
        self, machines: Makes, tmp_path: Path
    ) -> None:
        folder = str(tmp_path / "hints")
        here, beside, far = await machines(folder=folder), await machines(folder=folder), await machines()
        by_redis = beside.letters()
        with far.hints.listen(OUTBOX) as there, beside.hints.listen(OUTBOX) as next_door:
            here.hints.give([OUTBOX])
            assert await there.wait(SOON)
            assert await next_door.wait(SOON)
            far.hints.give(["answer"])
            assert await asyncio.wait_for(by_redis.get(), DEADLINE) == ["answer"]

    async def test_another_database_of_the_same_server_hears_nothing(self, machines: Makes, redis_url: str) -> None:
        here, there, other = await machines(), await machines(), await machines(redis_url.replace("/0", "/1"))
        with there.hints.listen(OUTBOX) as ear, other.hints.listen(OUTBOX) as deaf:
            here.hints.give([OUTBOX])
            assert await ear.wait(SOON)
            assert not await deaf.wait(NOW)

    async def test_what_is_given_in_one_turn_of_the_loop_is_one_letter(self, machines: Makes, here: Machine) -> None:
        letters = (await machines()).letters()
        for n in range(100):
            here.hints.give([f"message:{n}", OUTBOX])
        expected = ["message:0", OUTBOX, *(f"message:{n}" for n in range(1, 100))]
        assert await asyncio.wait_for(letters.get(), DEADLINE) == expected


class TestRedisWhereabouts(PresenceContract):
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def pass_by(self, clock: ManualClock) -> Callable[[Span], None]:
        return clock.jump

    @pytest.fixture
    def presence(self, here: Machine, clock: ManualClock) -> RedisPresence:
        return whereabouts_of(here, clock)

    async def test_another_machine_knows_who_is_here(self, here: Machine, machines: Makes, clock: ManualClock) -> None:
        one, other = whereabouts_of(here, clock), whereabouts_of(await machines(), clock)
        with other.listen() as watch:
            one.set(ORG, ANN, PHONE, PresenceState.ONLINE)
            assert await watch.wait(seconds(10))
            assert watch.named() == [(ORG, ANN)]
        assert await other.of([ANN]) == {ANN: PresenceState.ONLINE}

    async def test_a_process_that_starts_reads_who_is_here(
        self, here: Machine, machines: Makes, clock: ManualClock
    ) -> None:
        whereabouts_of(here, clock).set(ORG, ANN, PHONE, PresenceState.ONLINE)
        await here.all_sent()
        late = await machines(up=False)
        starting = whereabouts_of(late, clock)
        await asyncio.wait_for(starting.read.wait(), DEADLINE)
        assert await starting.of([ANN]) == {ANN: PresenceState.ONLINE}

    async def test_what_others_keep_under_such_names_harms_nobody(
        self, here: Machine, machines: Makes, library: Library, clock: ManualClock
    ) -> None:
        await library.hset(b"session:\xff\xfe", b"\xff", b"\xff")
        await library.set("session:text", b"\xff")
        whereabouts_of(here, clock).set(ORG, ANN, PHONE, PresenceState.ONLINE)
        await here.all_sent()
        starting = whereabouts_of(await machines(up=False), clock)
        await asyncio.wait_for(starting.read.wait(), DEADLINE)
        assert await starting.of([ANN]) == {ANN: PresenceState.ONLINE}

    async def test_the_keys_are_those_that_others_know_and_expire_by_themselves(
        self, here: Machine, library: Library, clock: ManualClock
    ) -> None:
        presence = whereabouts_of(here, clock)
        presence.set(ORG, ANN, PHONE, PresenceState.SYNCING)
        await here.all_sent()
        assert await everything(library) == {"sync_status:ann": "syncing"}
        assert 50 < await library.ttl("sync_status:ann") <= 60
        presence.set(ORG, ANN, PHONE, PresenceState.ONLINE)
        await here.all_sent()
        assert await everything(library) == {"session:ann": {"phone": "gateway-1"}, "presence:ann": "online"}
        assert 20 < await library.ttl("presence:ann") <= 30
        assert 20 < await library.ttl("session:ann") <= 30

    async def test_somebody_is_here_until_their_last_device_went(
        self, here: Machine, library: Library, clock: ManualClock
    ) -> None:
        presence = whereabouts_of(here, clock)
        for device in (PHONE, LAPTOP):
            presence.set(ORG, ANN, device, PresenceState.ONLINE)
        presence.set(ORG, ANN, PHONE, PresenceState.OFFLINE)
        await here.all_sent()
        assert await everything(library) == {"session:ann": {"laptop": "gateway-1"}, "presence:ann": "online"}
        presence.set(ORG, ANN, LAPTOP, PresenceState.OFFLINE)
        await here.all_sent()
        assert await everything(library) == {}


def whereabouts_of(machine: Machine, clock: ManualClock) -> RedisPresence:
    return RedisPresence(LocalPresence(machine.hints, clock), machine.line, "gateway-1")


async def everything(library: Library) -> dict[str, object]:
    """Every key with what it holds."""
    found: dict[str, object] = {}
    async for key in library.scan_iter():
        is_hash = await library.type(key) == "hash"
        found[key] = await library.hgetall(key) if is_hash else await library.get(key)
    return found


class TestRedisCounters:
    """Under exactly the keys of the original specification."""

    @pytest.fixture
    def counters(self, here: Machine) -> RedisCounters:
        return RedisCounters(here.line)

    async def test_a_claim_shows_what_is_drawn_and_the_limit(
        self, here: Machine, counters: RedisCounters, library: Library
    ) -> None:
        counters.drawn(ORG, permit(7))
        await here.all_sent()
        assert await everything(library) == {
            "whatsapp:ratelimit:counter:acme": "7",
            "whatsapp:ratelimit:limit:acme": "1000",
        }
        assert 22 * 3600 < await library.ttl("whatsapp:ratelimit:counter:acme") <= 23 * 3600

    async def test_claims_may_arrive_in_any_order(
        self, here: Machine, counters: RedisCounters, library: Library
    ) -> None:
        for used in (20, 30, 10):
            counters.drawn(ORG, permit(used))
            await here.all_sent()
        assert await library.get("whatsapp:ratelimit:counter:acme") == "30"

    async def test_what_the_ledger_says_stands_also_when_it_is_lower(
        self, here: Machine, counters: RedisCounters, library: Library
    ) -> None:
        counters.drawn(ORG, permit(30))
        counters.stands(ORG, permit(28, most=None), None)
        await here.all_sent()
        assert await everything(library) == {"whatsapp:ratelimit:counter:acme": "28"}

    async def test_a_new_window_begins_anew_and_an_old_one_is_not_heard(
        self, here: Machine, counters: RedisCounters, library: Library
    ) -> None:
        for used, ago in ((900, hours(23)), (3, minutes(1)), (901, hours(23))):
            counters.drawn(ORG, permit(used, ago=ago))
            await here.all_sent()
        assert await library.get("whatsapp:ratelimit:counter:acme") == "3"

    async def test_a_window_that_is_over_leaves_nothing(
        self, here: Machine, counters: RedisCounters, library: Library
    ) -> None:
        counters.stands(ORG, permit(900, most=None, ago=hours(25)), None)
        await here.all_sent()
        assert await everything(library) == {}

    async def test_a_throttle_says_until_when_and_goes_with_its_time(
        self, here: Machine, counters: RedisCounters, library: Library
    ) -> None:
        until = Instant(SystemClock().now() + minutes(2))
        counters.stands(ORG, permit(1), until)
        await here.all_sent()
        assert int(await library.get("whatsapp:ratelimit:throttle:acme") or 0) == -(-until // 1000)
        assert 100 < await library.ttl("whatsapp:ratelimit:throttle:acme") <= 120
        counters.stands(ORG, permit(1), None)
        await here.all_sent()
        assert await library.exists("whatsapp:ratelimit:throttle:acme") == 0

    async def test_a_key_that_somebody_else_filled_with_something_else_harms_nobody(
        self, here: Machine, counters: RedisCounters, library: Library
    ) -> None:
        await library.set("whatsapp:ratelimit:counter:acme", "many")
        await library.sadd("whatsapp:ratelimit:counter:globex", "some")
        counters.drawn(ORG, permit(5))
        counters.drawn(OrgId("globex"), permit(5))
        await here.all_sent()
        assert await library.get("whatsapp:ratelimit:counter:acme") == "5"
        assert here.line.up
        assert here.line.dropped == 1


def permit(used: int, *, most: int | None = 1000, ago: Span = hours(1)) -> Permit:  # noqa: B008  # a plain number
    since = Instant(SystemClock().now() - ago)
    return Permit(name=quota_of(ORG), free_at=Instant(0), used=used, since=since, most=most)
