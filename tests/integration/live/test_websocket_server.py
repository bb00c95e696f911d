"""The WebSocket server on real sockets, on both event loops: frames arrive, and every end is noticed once."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import struct

import pytest
from websockets.frames import Opcode

from tests.integration.stage.websocket_server import (
    SOON,
    anyio_backend,
    closing,
    handshake,
    house,
    masked,
    nobody_warns,
    raw,
    visit,
)
from waypost.http.live.websocket import WebSocketLimits
from waypost.ports.live.live_connection import Bundle, Frame, HandshakeInfo, LiveConnection, alone

__all__ = ["anyio_backend", "nobody_warns"]


async def test_what_a_client_says_is_heard_and_what_it_is_told_arrives() -> None:
    async with house() as ours, visit(ours) as client:
        for text in ("{}", "", "Grüße 👋", "x" * 125, "x" * 126, "x" * 65536):
            await client.send(text)
            assert await asyncio.wait_for(client.recv(), SOON) == text


async def test_fragments_are_heard_as_one_text_also_with_a_ping_and_a_character_cut_in_two() -> None:
    async with house() as ours, raw(ours) as line:
        grin = "😀".encode()
        line.writer.write(masked(Opcode.TEXT, b"a" + grin[:2], fin=False) + masked(Opcode.CONT, b"", fin=False))
        line.writer.write(masked(Opcode.PING, b"now") + masked(Opcode.CONT, grin[2:]))
        guest = await ours.guest()
        assert await asyncio.wait_for(guest.texts.get(), SOON) == b"a" + grin
        assert await line.reader.readexactly(5) == b"\x8a\x03now"


async def test_frames_that_come_byte_by_byte_are_heard() -> None:
    async with house() as ours, raw(ours) as line:
        guest = await ours.guest()
        for byte in masked(Opcode.TEXT, b"slowly") + masked(Opcode.TEXT, b"but surely"):
            line.writer.write(bytes([byte]))
            await line.writer.drain()
        assert [await asyncio.wait_for(guest.texts.get(), SOON) for _ in range(2)] == [b"slowly", b"but surely"]


async def test_a_caller_is_known_by_what_it_said_and_its_secrets_do_not_show() -> None:
    headers = {"Authorization": "Bearer secret", "Cookie": "session=secret"}
    async with house() as ours, visit(ours, additional_headers=headers):
        caller = (await ours.guest()).link.caller
        assert caller == HandshakeInfo(address="127.0.0.1", authorization="Bearer secret", cookie="session=secret")
        assert "secret" not in repr(caller)


async def test_a_thousand_frames_in_one_bundle_arrive_in_order_at_everybody() -> None:
    async with house() as ours, visit(ours) as one, visit(ours) as two:
        bundle = Bundle(Frame(b"%d" % number) for number in range(1000))
        for guest in (await ours.guest(), await ours.guest()):
            guest.link.send(bundle)
            guest.link.send(alone(b"last"))
        for client in (one, two):
            got = [await asyncio.wait_for(client.recv(), SOON) for _ in range(1001)]
            assert got == [*map(str, range(1000)), "last"]
        assert bundle.encoded is not None
        assert all(frame.encoded is not None for frame in bundle.frames)


async def test_a_text_over_the_limit_closes_with_1009_in_one_frame_and_in_fragments() -> None:
    async with house(WebSocketLimits(frame=1000)) as ours:
        async with visit(ours) as client:
            await client.send("x" * 1000)
            await client.recv()
            await client.send("x" * 1001)
            assert (await closing(client))[0] == 1009
        async with visit(ours) as client:
            await client.send(["x" * 600, "x" * 600])
            assert (await closing(client))[0] == 1009


async def test_a_client_that_goes_on_writing_a_text_that_is_too_long_still_learns_why_it_was_closed() -> None:
    async with house() as ours, raw(ours) as line:
        line.writer.write(b"\x81\xff" + struct.pack("!Q", 8 * 1024 * 1024) + bytes(4) + bytes(4 * 1024 * 1024))
        assert await line.closing() == 1009


async def test_a_binary_frame_closes_with_1003_and_is_not_heard() -> None:
    async with house() as ours, visit(ours) as client:
        guest = await ours.guest()
        await client.send(b"{}")
        assert await closing(client) == (1003, "text frames only")
        assert guest.texts.empty()


async def test_a_client_that_closes_is_answered_and_gone_once() -> None:
    async with house() as ours, visit(ours) as client:
        guest = await ours.guest()
        await client.close(4321, "enough")
        assert (client.close_code, client.close_reason) == (4321, "enough")
        await asyncio.wait_for(guest.left.wait(), SOON)
        guest.link.send(alone(b"too late"))
        guest.link.close(4001, "too late")
        assert (guest.departures, guest.link.waiting) == (1, 0)


async def test_what_was_said_right_before_a_close_is_still_heard() -> None:
    async with house(echo=False) as ours, raw(ours) as line:
        line.writer.write(masked(Opcode.TEXT, b"one more thing") + masked(Opcode.CLOSE, b"\x03\xe8"))
        guest = await ours.guest()
        assert await asyncio.wait_for(guest.texts.get(), SOON) == b"one more thing"
        assert await line.closing() == 1000


@pytest.mark.parametrize(("code", "reason"), [(4001, "server going away"), (4401, ""), (4409, "ü" * 100)])
async def test_a_visitor_closes_with_its_own_code_behind_what_it_sent(code: int, reason: str) -> None:
    async with house() as ours, visit(ours) as client:
        guest = await ours.guest()
        guest.link.send(alone(b"goodbye"))
        guest.link.close(code, reason)
        guest.link.close(4000, "a second time")
        guest.link.send(alone(b"nothing after it"))
        assert await client.recv() == "goodbye"
        assert await closing(client) == (code, reason[:61])
        await asyncio.wait_for(guest.left.wait(), SOON)
        assert guest.departures == 1


async def test_nothing_is_heard_after_a_visitor_has_closed() -> None:
    async with house() as ours, raw(ours) as line:
        guest = await ours.guest()
        guest.link.close(4400, "no more")
        line.writer.write(masked(Opcode.TEXT, b"but") + masked(Opcode.CLOSE, b"\x11\x30"))
        assert await line.closing() == 4400
        await asyncio.wait_for(guest.left.wait(), SOON)
        assert guest.texts.empty()


async def test_a_visitor_may_close_before_it_is_seated() -> None:
    def turned_away(link: LiveConnection) -> None:
        link.send(alone(b"sorry"))
        link.close(4403, "not today")

    async with house(at_once=turned_away) as ours, visit(ours) as client:
        assert await client.recv() == "sorry"
        assert await closing(client) == (4403, "not today")
        await asyncio.wait_for((await ours.guest()).left.wait(), SOON)


async def test_a_connection_that_is_cut_is_gone_once_and_whoever_still_sends_notices_nothing() -> None:
    async with house() as ours, raw(ours) as line:
        guest = await ours.guest()
        linger = struct.pack("ii", 1, 0)  # closing resets
        line.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        line.writer.transport.abort()
        while not guest.left.is_set():
            guest.link.send(alone(b"anybody there?"))
            await asyncio.sleep(0)
        guest.link.send(alone(b"no"))
        assert guest.departures == 1


async def test_a_client_that_does_not_read_can_be_seen_and_sent_away() -> None:
    async with house(WebSocketLimits(farewell=0.1)) as ours, raw(ours) as line:
        guest = await ours.guest()
        line.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport of a socket has it
        page = Bundle(Frame(b"x" * 50_000) for _ in range(20))
        seen: list[int] = []
        while not seen or seen[-1] < 4_000_000:
            guest.link.send(page)
            await asyncio.sleep(0)
            seen.append(guest.link.waiting)
        assert seen == sorted(seen)
        guest.link.close(4008, "slow consumer")
        await asyncio.wait_for(guest.left.wait(), SOON)
        assert guest.link.waiting == 0


async def test_a_client_that_reads_late_gets_everything_and_nothing_waits_any_more() -> None:
    async with house(echo=False) as ours, raw(ours) as line:
        guest = await ours.guest()
        for number in range(200):
            guest.link.send(alone(b"%05d" % number * 10_000))
        guest.link.close(4001, "that is all")
        assert guest.link.waiting > 0
        got = await asyncio.wait_for(line.reader.readexactly(200 * 50_004), SOON)
        assert [got[at : at + 9] for at in range(0, len(got), 50_004)] == [
            b"\x81\x7e\xc3\x50%05d" % number for number in range(200)
        ]
        line.writer.write(masked(Opcode.CLOSE, b"\x0f\xa1"))
        assert await line.closing() == 4001


async def test_pings_of_a_client_that_reads_nothing_do_not_pile_up() -> None:
    async with house(WebSocketLimits(farewell=0.1)) as ours, raw(ours) as line:
        guest = await ours.guest()
        line.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport of a socket has it
        page = alone(b"x" * 1_000_000)
        while guest.link.waiting < 1_000_000:
            guest.link.send(page)
            await asyncio.sleep(0)
        before = guest.link.waiting
        line.writer.write(masked(Opcode.PING, b"x" * 125) * 10_000 + masked(Opcode.TEXT, b"done"))
        assert await asyncio.wait_for(guest.texts.get(), SOON) == b"done"
        assert guest.link.waiting <= before + 100
        guest.link.close(4008, "slow consumer")
        await asyncio.wait_for(guest.left.wait(), SOON)


async def test_a_paused_link_hears_nothing_until_it_is_resumed_and_then_all_in_order() -> None:
    async with house(echo=False) as ours, raw(ours) as line:
        guest = await ours.guest()
        hear = guest.received

        def one_at_a_time(text: bytes) -> None:
            guest.link.pause()
            hear(text)

        guest.received = one_at_a_time  # type: ignore[method-assign]  # this guest only
        line.writer.write(b"".join(masked(Opcode.TEXT, b"%d" % number) for number in range(100)))
        for number in range(100):
            assert await asyncio.wait_for(guest.texts.get(), SOON) == b"%d" % number
            assert guest.texts.empty()
            guest.link.resume()


async def test_a_client_that_floods_with_tiny_frames_does_not_hold_up_the_others() -> None:
    async with house(echo=False) as ours, raw(ours) as flooding, raw(ours) as other:
        one, two = await ours.guest(), await ours.guest()
        flooding.writer.write(masked(Opcode.TEXT, b"") * 20_000)
        await asyncio.wait_for(one.texts.get(), SOON)
        other.writer.write(masked(Opcode.TEXT, b"me too"))
        assert await asyncio.wait_for(two.texts.get(), SOON) == b"me too"
        assert one.texts.qsize() < 15_000
        for _ in range(19_999):
            await asyncio.wait_for(one.texts.get(), SOON)


async def test_a_link_may_be_paused_and_resumed_in_the_middle_of_a_flood() -> None:
    async with house(echo=False) as ours, raw(ours) as line:
        guest = await ours.guest()
        line.writer.write(b"".join(masked(Opcode.TEXT, b"%d" % number) for number in range(5_000)))
        for number in range(5_000):
            guest.link.pause()
            guest.link.resume()
            assert await asyncio.wait_for(guest.texts.get(), SOON) == b"%d" % number
        line.writer.write(masked(Opcode.TEXT, b"and on"))
        assert await asyncio.wait_for(guest.texts.get(), SOON) == b"and on"


async def test_a_visitor_that_fails_loses_its_link_and_the_others_stay() -> None:
    async with house(bugs=1) as ours, visit(ours) as other, raw(ours) as line:
        await ours.guest()
        guest = await ours.guest()
        line.writer.write(masked(Opcode.TEXT, b"a bug, please"))
        await asyncio.wait_for(guest.left.wait(), SOON)
        assert isinstance(ours.bugs[0]["exception"], RuntimeError)
        assert guest.departures == 1
        await other.send("well?")
        assert await asyncio.wait_for(other.recv(), SOON) == "well?"


async def test_a_server_that_stops_says_so_and_waits_for_nobody_who_does_not_answer() -> None:
    async with house(WebSocketLimits(hurried_farewell=0.1)) as ours:
        client = await visit(ours)
        guest = await ours.guest()
        reader, writer = await asyncio.open_connection("127.0.0.1", ours.port)
        writer.write(handshake(Sec_WebSocket_Key=base64.b64encode(os.urandom(16)).decode()))
        await reader.readuntil(b"\r\n\r\n")
        silent = await ours.guest()
    assert await closing(client) == (4001, "server going away")
    assert (guest.departures, silent.departures) == (1, 1)
    writer.close()
