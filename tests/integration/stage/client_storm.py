"""A storm: everything that a network, a machine and two users can do to a client, in an order drawn from a seed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from tests.integration.stage.client_play import Device, Stage
from waypost_testing.services.hostile_proxy import HostileProxy

LULL = 0.15
"""The longest time between two faults, in seconds: the next comes after the client's next output, or then."""

NONSENSE: list[str] = ["{", "[]", '{"type": "item"}', '{"type": "confetti"}', '{"type": "ack", "client_message_id": 7}']


Write = Callable[[int], Awaitable[None]]
"""Both users write something in this round."""


async def storm(stage: Stage, device: Device, rounds: int, dice: random.Random, write: Write) -> None:
    """In the end the network works again and the client runs."""
    for n in range(rounds):
        await blow(stage, device, dice)
        await write(n)
        await lull(device)
    await stage.proxy.pass_all()
    await stage.connect(device)


async def blow(stage: Stage, device: Device, dice: random.Random) -> None:
    what = dice.randrange(8)
    if what == 0:
        await device.kill()
        await stage.connect(device)
    elif what == 1:
        await device.stop()
        await stage.connect(device)
    elif what == 2:
        await stage.proxy.refuse()
    elif what == 3:
        await stage.proxy.pass_all()
    else:
        if what == 4:
            await stage.proxy.pass_all()
        order(stage.proxy, dice)


def order(proxy: HostileProxy, dice: random.Random) -> None:
    orders: list[Callable[[], None]] = [
        lambda: proxy.cut(reset=dice.random() < 0.5),
        lambda: proxy.cut_after(dice.randrange(1, 12)),
        lambda: proxy.drop("item", dice.randrange(1, 4)),
        lambda: proxy.drop("ack", dice.randrange(1, 4)),
        lambda: proxy.drop("live", 1),
        lambda: proxy.drop("welcome", 1),
        lambda: proxy.swap("item"),
        proxy.double,
        lambda: proxy.delay(dice.random() / 10),
        lambda: proxy.close(dice.choice([1001, 4001, 4008])),
        lambda: proxy.inject(dice.choice(NONSENSE)),
        proxy.block_upgrades,
        proxy.stall,
    ]
    dice.choice(orders)()


async def lull(device: Device) -> None:
    try:
        async with asyncio.timeout(LULL), device.bell:
            await device.bell.wait()
    except TimeoutError:
        pass
