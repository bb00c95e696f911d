"""The hostile proxy does what a test asks, so that a case that passes through it has met what it names."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Request, Response

from waypost_testing.services.hostile_proxy import HostileProxy

PATIENCE = 10.0


async def echo(socket: ServerConnection) -> None:
    """Each frame comes back; a list, as the frames it holds."""
    async for told in socket:
        frames = json.loads(told)
        for frame in frames if isinstance(frames, list) else [frames]:
            await socket.send(json.dumps(frame))


async def plain(_: ServerConnection, request: Request) -> Response | None:
    """Everything but an upgrade is answered as HTTP."""
    if "upgrade" in request.headers:
        return None

    return Response(200, "OK", Headers({"content-length": "2", "connection": "close"}), b"hi")


@pytest.fixture
async def proxy() -> AsyncIterator[HostileProxy]:
    async with serve(echo, "127.0.0.1", 0, process_request=plain) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with HostileProxy("127.0.0.1", port) as proxy:
            yield proxy


def through(proxy: HostileProxy) -> connect:
    return connect(proxy.url.replace("http:", "ws:"), proxy=None, open_timeout=PATIENCE, close_timeout=0.1)


def numbered(*numbers: int, kind: str = "item") -> list[dict[str, Any]]:
    return [{"type": kind, "n": n} for n in numbers]


async def answers(socket: ClientConnection, frames: list[dict[str, Any]]) -> list[int]:
    """Which came back, up to a last word that no order is about."""
    await socket.send(json.dumps([*frames, {"type": "end"}]))
    came: list[int] = []
    async with asyncio.timeout(PATIENCE):
        while (frame := json.loads(await socket.recv())).get("type") != "end":
            came.append(frame.get("n"))
    return came


async def closed(socket: ClientConnection) -> int | None:
    async with asyncio.timeout(PATIENCE):
        await socket.wait_closed()
    return socket.close_code


async def get(proxy: HostileProxy) -> bytes:
    port = int(proxy.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n")
    try:
        async with asyncio.timeout(PATIENCE):
            return await reader.read()
    finally:
        writer.close()


async def test_without_an_order_everything_passes(proxy: HostileProxy) -> None:
    async with through(proxy) as socket:
        assert await answers(socket, numbered(1, 2, 3)) == [1, 2, 3]
        await socket.send(json.dumps({"type": "item", "n": "x" * 200_000}))
        assert len(await socket.recv()) > 200_000
    assert (await get(proxy)).endswith(b"hi")


async def test_frames_are_dropped_by_their_type(proxy: HostileProxy) -> None:
    proxy.drop("ack", 2)
    async with through(proxy) as socket:
        mixed = [*numbered(1, 2, kind="ack"), *numbered(3), *numbered(4, kind="ack")]
        assert await answers(socket, mixed) == [3, 4]


async def test_two_change_places(proxy: HostileProxy) -> None:
    proxy.swap("item")
    async with through(proxy) as socket:
        assert await answers(socket, numbered(1, 2, 3)) == [2, 1, 3]


async def test_each_comes_twice_until_it_is_told_to_pass(proxy: HostileProxy) -> None:
    proxy.double()
    async with through(proxy) as socket:
        assert await answers(socket, numbered(1, 2)) == [1, 1, 2, 2]
        await proxy.pass_all()
        await socket.recv()  # the last word, doubled
        assert await answers(socket, numbered(3)) == [3]


async def test_each_comes_later_and_in_order(proxy: HostileProxy) -> None:
    proxy.delay(0.2)
    async with through(proxy) as socket:
        loop = asyncio.get_running_loop()
        start = loop.time()
        assert await answers(socket, numbered(1, 2, 3)) == [1, 2, 3]
        assert loop.time() - start >= 0.2


@pytest.mark.parametrize("reset", [False, True])
async def test_it_cuts_now(proxy: HostileProxy, reset: bool) -> None:
    async with through(proxy) as socket:
        await answers(socket, numbered(1))
        assert proxy.sockets == 1
        proxy.cut(reset=reset)
        assert await closed(socket) == 1006
    async with through(proxy) as socket:
        assert await answers(socket, numbered(2)) == [2]


async def test_it_cuts_after_so_many_frames(proxy: HostileProxy) -> None:
    proxy.cut_after(2)
    async with through(proxy) as socket:
        await socket.send(json.dumps(numbered(1, 2, 3)))
        assert await closed(socket) == 1006


async def test_it_cuts_on_a_word(proxy: HostileProxy) -> None:
    proxy.cut_on("ack")
    for _ in range(2):
        async with through(proxy) as socket:
            assert await answers(socket, numbered(1)) == [1]
            await socket.send(json.dumps({"type": "ack"}))
            assert await closed(socket) == 1006


async def test_it_says_what_the_server_did_not(proxy: HostileProxy) -> None:
    async with through(proxy) as socket:
        await answers(socket, [])
        proxy.inject({"type": "item"})
        proxy.inject("{")
        assert [await socket.recv(), await socket.recv()] == ['{"type": "item"}', "{"]
        proxy.close(4008)
        assert await closed(socket) == 4008


async def test_it_blocks_upgrades_and_lets_http_pass(proxy: HostileProxy) -> None:
    async with through(proxy) as open_before:
        proxy.block_upgrades()
        assert await closed(open_before) == 1006
    with pytest.raises(InvalidStatus) as refused:
        await through(proxy)
    assert refused.value.response.status_code == 403
    assert (await get(proxy)).endswith(b"hi")
    await proxy.pass_all()
    async with through(proxy) as socket:
        assert await answers(socket, numbered(1)) == [1]


async def test_it_freezes_and_goes_on(proxy: HostileProxy) -> None:
    async with through(proxy) as socket:
        await answers(socket, numbered(1))
        proxy.stall()
        frozen = asyncio.create_task(answers(socket, numbered(2)))
        fresh = asyncio.create_task(get(proxy))
        done, _ = await asyncio.wait({frozen, fresh}, timeout=0.2)
        assert not done
        await proxy.pass_all()
        assert await frozen == [2]
        assert (await fresh).endswith(b"hi")


async def test_it_listens_no_more_and_again(proxy: HostileProxy) -> None:
    async with through(proxy) as socket:
        await answers(socket, numbered(1))
        await proxy.refuse()
        assert await closed(socket) == 1006
    with pytest.raises(ConnectionRefusedError):
        await get(proxy)
    await proxy.pass_all()
    assert (await get(proxy)).endswith(b"hi")
