"""Two servers that share only PostgreSQL and Redis: live items cross, and no message text is in Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis as Library

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import Stage, live_clock
from tests.integration.stage.live_devices import Device, chat, customer, people, posted_id
from tests.integration.stage.two_machines import ON_POSTGRES, machines
from tests.integration.stage.webhooks import PHONE
from waypost.runtime.process.server import ProcessRole
from waypost_testing.services.processes import Redis

pytestmark = [ON_POSTGRES]

FRONT = frozenset({ProcessRole.API, ProcessRole.GATEWAY})


async def test_who_is_here_who_types_and_what_is_said_cross(set_up: OpenStage, redis_url: str) -> None:
    stage = await set_up(roles=frozenset({ProcessRole.API}))
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with machines(stage, redis_url, redis_url, roles=FRONT) as (one, other):
        hers, his = Device(ann), Device(bob)
        await hers.live(one.house)
        await his.live(other.house)
        assert (await hers.until("presence", user_id=bob.user_id, state="online"))["state"] == "online"
        await his.say("typing", conversation_id=where)
        assert (await hers.until("typing"))["user_id"] == bob.user_id
        await his.say("send", client_message_id="1", conversation_id=where, content={"type": "text", "text": "hello"})
        await hers.hears("hello")
        await his.leave()
        await hers.until("presence", user_id=bob.user_id, state="offline")
        await hers.leave()


async def test_a_newer_connection_on_another_machine_takes_over(set_up: OpenStage, redis_url: str) -> None:
    stage = await set_up(roles=frozenset({ProcessRole.API}))
    (ann,) = await people(stage, 1)
    async with machines(stage, redis_url, redis_url, roles=FRONT) as (one, other):
        older, newer = Device(ann), Device(ann)
        await older.live(one.house)
        newer.epoch, newer.cursors = older.epoch, dict(older.cursors)
        await newer.live(other.house)
        await newer.settled()
        code, _ = await older.closing()
        assert code == 4409
        await newer.settled()
        await newer.leave()


async def test_a_message_taken_on_one_machine_is_sent_by_the_other_at_once(set_up: OpenStage, redis_url: str) -> None:
    """Polling alone would take an hour."""
    patient = 3_600_000
    stage = await set_up(roles=frozenset({ProcessRole.API}), outbound_worker_poll_interval_ms=patient)
    async with (
        machines(stage, redis_url, roles=frozenset({ProcessRole.WORKER})),
        machines(stage, redis_url, roles=frozenset({ProcessRole.API})) as (front,),
    ):
        stage.network.hosts["waypost.test"] = front.server.app
        posted = await stage.send()
        await stage.becomes(posted["id"], "DELIVERED")


@pytest.mark.parametrize("trouble", ["none", "flushed", "wrong", "split"])
async def test_never_more_than_the_quota_goes_out(
    set_up: OpenStage, redis: Redis, redis_url: str, trouble: str
) -> None:
    quota = 12
    stage = await set_up(
        roles=frozenset({ProcessRole.API}), clock=live_clock(), outbound_quota=quota, outbound_worker_batch_size=3
    )
    elsewhere = redis_url.replace("/0", "/1") if trouble == "split" else redis_url
    async with Library.from_url(redis_url, decode_responses=True, driver_info=None) as library:
        if trouble == "wrong":
            await library.set("whatsapp:ratelimit:counter:acme", "0", ex=3600)
            await library.set("whatsapp:ratelimit:limit:acme", "1000000")
        async with machines(stage, redis_url, elsewhere, roles=frozenset({ProcessRole.WORKER})) as workers:
            for n in range(2 * quota):
                await stage.send(to=f"+1555777{n:04}")
                if trouble == "flushed" and n % 5 == 0:
                    await asyncio.to_thread(redis.flush)
            workers[0].server.world.hints.give(["outbox"])
            await stage.eventually(lambda: _sent(stage, quota))
            await stage.eventually(lambda: _shows(library, str(quota)))
    assert len([call for call in stage.sandbox.calls.listed() if call.wamid]) == quota


async def _sent(stage: Stage, quota: int) -> bool:
    shown = await stage.get("/api/v1/outbound/quota")
    accepted = [call for call in stage.sandbox.calls.listed() if call.wamid]
    return bool(shown["messagesSent"] == quota == len(accepted))


async def _shows(library: Library, figure: str) -> bool:
    shown = [await library.get(f"whatsapp:ratelimit:{what}:acme") for what in ("counter", "limit")]
    return shown == [figure, figure]


@asynccontextmanager
async def overheard(url: str) -> AsyncIterator[bytearray]:
    """Everything that any client sends to this Redis."""
    host, _, port = url.removeprefix("redis://").partition("/")[0].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"MONITOR\r\n")
    await reader.readuntil(b"+OK\r\n")
    said = bytearray()

    async def listen() -> None:
        while piece := await reader.read(65536):
            said.extend(piece)

    listening = asyncio.ensure_future(listen())
    yield said
    listening.cancel()
    writer.close()


async def test_no_content_no_phone_number_and_no_token_is_ever_in_redis(set_up: OpenStage, redis_url: str) -> None:
    stage = await set_up(roles=frozenset({ProcessRole.API}), clock=live_clock(), outbound_quota=1000)
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with overheard(redis_url) as spoken, machines(stage, redis_url, redis_url) as (one, other):
        stage.network.hosts["waypost.test"] = one.server.app
        hers, his = Device(ann, "hers"), Device(bob, "his")
        await hers.live(one.house)
        await his.live(other.house)
        await his.say("typing", conversation_id=where)
        await his.say("send", client_message_id="1", conversation_id=where, content={"type": "text", "text": "sesame"})
        await hers.hears("sesame")
        talk = await customer(stage, text="mellon")
        await posted_id(stage, ann, talk, "friend")
        sent = await stage.send(payloadJson={"text": "abracadabra"})
        await stage.becomes(sent["id"], "DELIVERED")
        await hers.leave()
        await his.leave()
        for each in (one, other):
            await asyncio.wait_for(each.line.flushed(), 15)
        kept = await _everything(redis_url)
    found = bytes(spoken) + kept
    for expected in (b"SPUBLISH", b"session:", b"presence:", b"whatsapp:ratelimit:counter:acme", b"typing:", b"outbox"):
        assert expected in found
    number = stage.acme.number
    secrets = [ann.token, bob.token, stage.acme.key, number.token, number.app_secret, number.verify_token]
    for never in ("sesame", "mellon", "friend", "abracadabra", PHONE.lstrip("+"), *secrets):
        assert never.encode() not in found, never


async def _everything(url: str) -> bytes:
    async with Library.from_url(url, driver_info=None) as library:
        return b"\n".join([key + b" " + (await library.dump(key) or b"") async for key in library.scan_iter()])
