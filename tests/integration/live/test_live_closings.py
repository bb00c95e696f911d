"""Why a server closes a live connection: codes that say whether to reconnect; and reconnecting loses nothing."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage, live_clock
from tests.integration.stage.live_devices import SOON, Device, chat, house, key, people, person, posted_id
from waypost.adapters.local.hints import LocalBroadcast, ProcessHints
from waypost.http.live.gateway import CONNECTIONS_EACH, HELLO_WITHIN, SILENT_FOR
from waypost.http.live.session import RATE, TYPING_EVERY, Session
from waypost.model.chat import FeedName
from waypost.model.ids import UserId
from waypost.model.time import Span, seconds

pytestmark = pytest.mark.anyio


async def passed(stage: Stage, span: Span) -> None:
    """So long, in steps in which the gateway's own work is done."""
    for _ in range(-(-span // seconds(1))):
        stage.manual.advance(seconds(1))
        await stage.get("/api/v1/users")  # the loop went round


@ON_SQLITE
async def test_an_unknown_token_is_not_let_in(stage: Stage) -> None:
    async with house(stage) as here:
        for said_ in ({"token": "wpu_nobody"}, {}, {"token": ""}):
            phone = Device(await person(stage))
            await phone.connect(here)
            await phone.say("hello", device_id="phone", **said_)
            assert (await phone.closing())[0] == 4401


@ON_SQLITE
@pytest.mark.parametrize("role", ["admin", "sender", "readonly"])
async def test_a_key_is_nobody_and_not_let_in(stage: Stage, role: str) -> None:
    async with house(stage) as here:
        phone = Device(await person(stage))
        await phone.connect(here)
        await phone.say("hello", device_id="phone", token=await key(stage, role))
        assert (await phone.closing())[0] == 4403


@ON_SQLITE
@pytest.mark.parametrize("name", [" ", "a b", "x" * 65, "tab\t", "\u200b"])
async def test_a_device_needs_a_name_that_can_be_one(stage: Stage, name: str) -> None:
    async with house(stage) as here:
        ann = await person(stage)
        phone = Device(ann)
        await phone.connect(here)
        await phone.say("hello", device_id=name, token=ann.token)
        assert (await phone.closing())[0] == 4403


@ON_SQLITE
@pytest.mark.parametrize("chatters", [True, False])
async def test_whoever_does_not_say_hello_in_time_is_sent_away(stage: Stage, chatters: bool) -> None:
    async with house(stage) as here:
        phone = Device(await person(stage))
        await phone.connect(here)
        for _ in range(int(HELLO_WITHIN // seconds(1))):
            if chatters:
                await phone.say("ping")
                await phone.until("error", code="hello_first")
            await passed(stage, seconds(1))
        await passed(stage, seconds(2))
        assert (await phone.closing())[0] == 4000


@ON_SQLITE
async def test_a_device_that_falls_silent_is_told_to_come_back_and_one_that_pings_stays(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    async with house(stage) as here:
        silent, lively = Device(ann), Device(bob)
        await silent.live(here)
        await lively.live(here)
        for _ in range(int(SILENT_FOR // seconds(15)) + 1):
            await passed(stage, seconds(15))
            await lively.settled()
        assert (await silent.closing())[0] == 4000
        await lively.settled()
        await silent.live(here)


@ON_SQLITE
async def test_a_new_token_ends_the_connections_of_the_old_one(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    async with house(stage) as here:
        phone, other = Device(ann), Device(bob)
        await phone.live(here)
        await other.live(here)
        assert (await stage.call("POST", f"/api/v1/users/{ann.user_id}/token")).status == 200
        assert (await phone.closing())[0] == 4401
        assert (await stage.call("DELETE", f"/api/v1/users/{bob.user_id}")).status in (200, 204)
        assert (await other.closing())[0] == 4401


@ON_SQLITE
async def test_one_person_has_so_many_connections_and_no_more(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    async with house(stage) as here:
        devices = [Device(ann, f"device-{n}") for n in range(CONNECTIONS_EACH)]
        for device in devices:
            await device.live(here)
        one_more = Device(ann, "one-more")
        await one_more.connect(here)
        await one_more.say("hello", device_id="one-more", token=ann.token)
        assert (await one_more.closing())[0] == 4403
        await Device(bob).live(here)
        await devices[0].leave()
        await stage.eventually(lambda: _is(here.server.gateway.connected == CONNECTIONS_EACH))
        await one_more.live(here)


async def _is(fact: bool) -> bool:
    return fact


@ON_SQLITE
async def test_a_device_that_connects_again_takes_over_from_itself(stage: Stage) -> None:
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        old, new = Device(bob), Device(bob)
        await old.live(here)
        await new.live(here)
        assert (await old.closing())[0] == 4409
        await posted_id(stage, ann, where, "hello")
        await new.hears("hello")


@pytest.mark.may_block("datagram sockets are opened in a folder")
async def test_a_device_that_connects_to_another_server_takes_over_from_itself(
    set_up: OpenStage, tmp_path: Path
) -> None:
    """Two servers on one database, connected by datagrams."""
    stage = await set_up()
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    neighbours = [LocalBroadcast(tmp_path / "hints", f"server-{n}") for n in range(2)]
    ears = [ProcessHints(each.post, each.close) for each in neighbours]
    for each, ear in zip(neighbours, ears, strict=True):
        each.open(ear.deliver)
    first, second = [await stage.add_server(hints=ear) for ear in ears]
    async with house(stage, first) as one, house(stage, second) as two:
        phone, laptop = Device(bob), Device(ann)
        await phone.live(one)
        await laptop.live(one)
        old = phone.line
        await phone.live(two)  # at the same instant of the clock: the Ledger knows which came later
        await laptop.say("typing", conversation_id=where)
        await phone.until("typing")
        await asyncio.wait_for(await old.ping(), SOON)  # it continues until the newer one has shown that it is there
        await phone.say("ping")
        await asyncio.wait_for(old.wait_closed(), SOON)
        assert old.close_code == 4409
        content = {"type": "text", "text": "over there"}
        await laptop.say("send", client_message_id="1", conversation_id=where, content=content)
        await phone.hears("over there")
        await laptop.until("presence", user_id=bob.user_id, state="online")
        second.world.hints.give([f"device:{phone.epoch} {stage.clock.now() - seconds(9)} {bob.user_id} phone"])
        stage.manual.advance(TYPING_EVERY)
        await laptop.say("typing", conversation_id=where)
        await phone.until("typing")  # by now the late news of an older connection has arrived
        await phone.settled()
        assert (await first.world.presence.of([UserId(bob.user_id)])) == {bob.user_id: "online"}


@ON_SQLITE
async def test_who_sends_too_many_frames_is_told_to_slow_down_and_nothing_else_happens(stage: Stage) -> None:
    ann = await person(stage)
    async with house(stage) as here:
        phone = Device(ann)
        await phone.live(here)
        for _ in range(RATE.burst + 5):
            await phone.say("ping")
        told = await phone.until("error", code="rate_limited")
        assert told["retryable"] is True
        stage.manual.advance(seconds(10))
        await phone.settled()


async def test_a_device_that_reads_too_slowly_comes_back_and_loses_nothing(set_up: OpenStage) -> None:
    stage = await set_up(clock=live_clock())
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(bob)
        narrow = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        narrow.setblocking(False)
        await asyncio.get_running_loop().sock_connect(narrow, ("127.0.0.1", int(here.url.split(":")[2].split("/")[0])))
        await phone.live(here, sock=narrow)
        phone.line.transport.pause_reading()
        (session,) = here.server.gateway.tails.followers(FeedName(bob.feed))
        assert isinstance(session, Session)
        texts: list[str] = []
        while not session.is_over and len(texts) < 2000:
            texts.append(f"{len(texts)}".ljust(16_000, "."))
            await posted_id(stage, ann, where, texts[-1])
        phone.line.transport.resume_reading()
        assert (await phone.closing())[0] == 4008
        await phone.live(here)
        assert phone.texts() == texts


async def test_a_device_that_is_far_behind_is_given_everything_and_not_called_slow(set_up: OpenStage) -> None:
    stage = await set_up(clock=live_clock())
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with house(stage) as here:
        phone = Device(bob)
        await phone.live(here)
        await phone.leave()
        texts = [f"{n}".ljust(16_000, "\N{SNOWMAN}") for n in range(250)]
        for text in texts:
            await posted_id(stage, ann, where, text)
        await phone.live(here)
        assert phone.texts() == texts


@ON_SQLITE
async def test_a_device_that_is_removed_is_sent_to_read_anew(stage: Stage) -> None:
    async with house(stage) as here:
        phone = Device(await person(stage))
        await phone.live(here)
        answer = await stage.call("DELETE", f"/api/v1/devices/{phone.name}", key=phone.who.token)
        assert answer.status == 204
        assert (await phone.closing())[0] == 4000
