"""Several servers on one database: every device shows the same, in the same order, on whichever server it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import Stage
from tests.integration.stage.live_devices import Device, House, chat, history, house, people
from waypost.adapters.local.hints import LocalBroadcast, ProcessHints
from waypost.model.chat import LARGEST_IN_FEEDS

pytestmark = [pytest.mark.anyio, pytest.mark.may_block("datagram sockets are opened in a folder")]


@asynccontextmanager
async def two_houses(stage: Stage, folder: Path) -> AsyncIterator[list[House]]:
    """Each with its own hints, which reach the other by datagrams."""
    async with AsyncExitStack() as stack:
        houses = []
        for name in ("one", "two"):
            neighbours = LocalBroadcast(folder, name)
            hints = ProcessHints(neighbours.post, neighbours.close)
            neighbours.open(hints.deliver)
            server = await stage.add_server(hints=hints)
            houses.append(await stack.enter_async_context(house(stage, server)))
        yield houses


async def posts(device: Device, where: str, count: int) -> None:
    for n in range(count):
        content = {"type": "text", "text": f"{device.who.user_id} {n}"}
        name = f"{device.name} {n}"
        await device.say("send", client_message_id=name, conversation_id=where, content=content)


async def hears_all(device: Device, count: int) -> None:
    while len(device.texts()) < count:
        await device.next()


@pytest.mark.parametrize("members", [4, LARGEST_IN_FEEDS + 1])
async def test_what_is_said_on_two_servers_at_once_is_shown_alike_on_all_devices(
    set_up: OpenStage, tmp_path: Path, members: int
) -> None:
    stage = await set_up()
    everybody = await people(stage, members)
    where = await chat(stage, everybody[0], everybody[1:])
    each = 15
    async with two_houses(stage, tmp_path / "hints") as houses:
        devices = [Device(who, f"device-{n}") for n, who in enumerate(everybody[:4])]
        for n, device in enumerate(devices):
            await device.live(houses[n % 2])
        await asyncio.gather(*(posts(device, where, each) for device in devices))
        moved = devices[3]
        await moved.until("ack", client_message_id=f"{moved.name} {each - 1}")
        moved.cut()
        await moved.live(houses[0])
        await asyncio.gather(*(hears_all(device, each * 4) for device in devices))
    said = [
        message["content"]["text"] for message in (await history(stage, everybody[0], where, limit=200))["messages"]
    ]
    assert len(said) == each * 4
    for device in devices:
        assert device.texts() == said[::-1]


async def test_a_device_that_moves_between_servers_all_the_time_has_everything_once(
    set_up: OpenStage, tmp_path: Path
) -> None:
    stage = await set_up()
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with two_houses(stage, tmp_path / "hints") as houses:
        writer, phone = Device(ann), Device(bob)
        await writer.live(houses[0])
        await phone.live(houses[1])
        writing = asyncio.ensure_future(posts(writer, where, 60))
        for n in range(6):
            phone.cut()
            await phone.live(houses[n % 2])
        await writing
        await hears_all(phone, 60)
        await hears_all(writer, 60)
        assert phone.texts() == writer.texts() == [f"{ann.user_id} {n}" for n in range(60)]


async def test_a_device_that_reads_no_further_is_gone_with_its_server(set_up: OpenStage, tmp_path: Path) -> None:
    """As when the last it waited for came before the answers to what it had posted."""
    stage = await set_up()
    ann, bob = await people(stage, 2)
    where = await chat(stage, ann, [bob], "direct")
    async with two_houses(stage, tmp_path / "hints") as houses:
        writer, phone = Device(ann), Device(bob)
        await writer.live(houses[0])
        await phone.live(houses[1])
        await posts(writer, where, 30)
        await hears_all(phone, 30)
    assert writer.line.transport.is_closing()
    assert phone.line.transport.is_closing()
