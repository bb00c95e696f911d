"""Refused WebSocket connections and frames: nothing crashes and nothing is logged as a warning."""

from __future__ import annotations

import asyncio
import os

import pytest
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame as WireFrame
from websockets.frames import Opcode

from tests.fuzzing import TRIED, examples
from tests.integration.stage.websocket_server import (
    SOON,
    anyio_backend,
    handshake,
    house,
    masked,
    nobody_warns,
    raw,
    refusal,
    visit,
)
from waypost.http.live.websocket import WebSocketLimits
from waypost.http.live.websocket_handshake import PATH

__all__ = ["anyio_backend", "nobody_warns"]


@pytest.mark.parametrize("text", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"fine until \xf8"])
async def test_what_is_not_utf_8_closes_with_1007(text: bytes) -> None:
    async with house() as ours, raw(ours) as line:
        line.writer.write(masked(Opcode.TEXT, text))
        assert await line.closing() == 1007


WRONG = {
    "not masked": WireFrame(Opcode.TEXT, b"x").serialize(mask=False),
    "a reserved bit": b"\xc1\x80\x00\x00\x00\x00",
    "no such opcode": b"\x83\x80\x00\x00\x00\x00",
    "goes on with nothing": masked(Opcode.CONT, b"x"),
    "a text within a text": masked(Opcode.TEXT, b"a", fin=False) + masked(Opcode.TEXT, b"b"),
    "a ping too long": b"\x89\xfe\x00\x7e" + bytes(130),
    "a ping in fragments": b"\x09\x80\x00\x00\x00\x00",
    "half a close code": masked(Opcode.CLOSE, b"\x03"),
    "a close code that is never sent": masked(Opcode.CLOSE, b"\x03\xed"),
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_what_the_protocol_forbids_closes_with_1002(wrong: bytes) -> None:
    async with house() as ours, raw(ours) as line:
        guest = await ours.guest()
        line.writer.write(wrong)
        assert await line.closing() == 1002
        await asyncio.wait_for(guest.left.wait(), SOON)
        assert (guest.texts.qsize(), guest.departures) == (0, 1)


async def test_any_garbage_ends_that_connection_and_no_other() -> None:
    async with house() as ours, visit(ours) as well_behaved:
        await ours.guest()
        for _ in range(examples(20)):
            TRIED["WebSocket garbage"] += 1
            async with raw(ours) as line:
                guest = await ours.guest()
                line.writer.write(os.urandom(5000))
                line.writer.write_eof()
                await asyncio.wait_for(guest.left.wait(), SOON)
                assert guest.departures == 1
        await well_behaved.send("still here")
        assert await asyncio.wait_for(well_behaved.recv(), SOON) == "still here"


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        (handshake("/api/v1/messages"), 404, b"not_found"),
        (handshake(PATH + "/"), 404, b"not_found"),
        (handshake(Sec_WebSocket_Key=None), 400, b"bad_handshake"),
        (handshake(Sec_WebSocket_Key="short"), 400, b"bad_handshake"),
        (handshake(Sec_WebSocket_Version=None), 400, b"bad_handshake"),
        (handshake(Sec_WebSocket_Version="8"), 400, b"bad_handshake"),
        (handshake(method="POST"), 405, b"method_not_allowed"),
        (handshake(Origin="https://evil.example.org"), 403, b"origin_not_allowed"),
        (handshake(Origin="null"), 403, b"origin_not_allowed"),
        (handshake(Origin="http://[bad"), 403, b"origin_not_allowed"),
        (handshake(Origin="https://chat.example.org\r\nOrigin: https://evil.example.org"), 400, b"bad_handshake"),
        (handshake(Upgrade=None, Connection=None), 426, b"upgrade_required"),
        (handshake(Upgrade="h2c"), 426, b"upgrade_required"),
    ],
)
async def test_a_wrong_handshake_is_refused_with_a_reason(request_: bytes, status: int, code: bytes) -> None:
    async with house() as ours:
        answered, content = await refusal(ours, request_)
        assert answered == status, content
        assert b'"code":"%s"' % code in content
        assert ours.guests.empty()


@pytest.mark.parametrize("request_", [b"GET /?" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"nonsense\r\n\r\n"])
async def test_what_cannot_be_read_is_refused_as_everything_else_is(request_: bytes) -> None:
    async with house() as ours:
        status, content = await refusal(ours, request_)
        assert status == 400
        assert b'"code":"unreadable_request"' in content


async def test_a_handshake_with_endless_headers_is_refused() -> None:
    async with house() as ours, raw(ours, handshake(X_Long="x" * 20_000)) as line:
        assert (await line.reader.readline()).startswith(b"HTTP/1.1 431 ")


async def test_a_handshake_may_have_a_long_cookie() -> None:
    cookie = "x" * 7_000
    async with house(WebSocketLimits(farewell=0)) as ours, visit(ours, additional_headers={"Cookie": cookie}) as client:
        assert (await ours.guest()).link.caller.cookie == cookie
        await client.send("well?")
        assert await asyncio.wait_for(client.recv(), SOON) == "well?"


@pytest.mark.parametrize("origin", ["http://chat.example.org", "https://CHAT.example.org", "https://other.example.org"])
async def test_pages_of_the_same_host_or_of_a_named_origin_come_in(origin: str) -> None:
    async with house(also=("https://other.example.org/",)) as ours, raw(ours, handshake(Origin=origin)) as line:
        assert (await line.reader.readline()).startswith(b"HTTP/1.1 101 ")
        assert (await ours.guest()).link.caller.origin == origin


async def test_a_query_is_let_pass_and_other_paths_belong_to_the_application() -> None:
    async with house() as ours:
        async with raw(ours, handshake(PATH + "?v=1")) as line:
            assert (await line.reader.readline()).startswith(b"HTTP/1.1 101 ")
        async with raw(ours, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") as line:
            assert (await line.reader.readline()).startswith(b"HTTP/1.1 200 ")


async def test_no_more_come_in_than_there_is_room_for_until_one_leaves() -> None:
    async with house(WebSocketLimits(connections=1)) as ours:
        async with visit(ours):
            guest = await ours.guest()
            with pytest.raises(InvalidStatus) as full:
                await visit(ours)
            assert full.value.response.status_code == 503
        await asyncio.wait_for(guest.left.wait(), SOON)
        async with visit(ours):
            await ours.guest()


async def test_who_knocks_and_says_nothing_is_not_waited_for() -> None:
    async with house(WebSocketLimits(handshake=0.05)) as ours, raw(ours, b"GET ") as line:
        assert await asyncio.wait_for(line.reader.read(), SOON) == b""
