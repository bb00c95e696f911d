"""The WebSocket door on real sockets, on both event loops: whatever a client does, nothing crashes and nobody warns."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame as WireFrame
from websockets.frames import Opcode

from waypost.http.websocket import Door, Limits
from waypost.http.websocket_handshake import PATH, same_host
from waypost.ports.link import Bundle, Caller, Frame, Link, alone
from waypost.runtime.serving import listen, web_server

SOON = 10
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


@pytest.fixture(params=[True, False], ids=["uvloop", "asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture(autouse=True)
def nobody_warns(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


class Guest:
    """A visitor that writes down what happens to it and, if told to, says it back."""

    def __init__(self, link: Link, echo: bool) -> None:
        self.link = link
        self._echo = echo
        self.texts: asyncio.Queue[bytes] = asyncio.Queue()
        self.left = asyncio.Event()
        self.departures = 0

    def heard(self, text: bytes) -> None:
        assert not self.departures
        if text == b"a bug, please":
            raise RuntimeError("asked for")
        self.texts.put_nowait(text)
        if self._echo:
            self.link.send(alone(text))

    def gone(self) -> None:
        self.departures += 1
        self.left.set()


class House:
    """A server with a door, and the guests in it."""

    def __init__(self, port: int, echo: bool, at_once: Callable[[Link], None]) -> None:
        self.port = port
        self._at_once = at_once
        self.url = f"ws://127.0.0.1:{port}{PATH}"
        self._echo = echo
        self.guests: asyncio.Queue[Guest] = asyncio.Queue()
        self.bugs: list[dict[str, Any]] = []

    def welcome(self, link: Link) -> Guest:
        self._at_once(link)
        guest = Guest(link, self._echo)
        self.guests.put_nowait(guest)
        return guest

    async def guest(self) -> Guest:
        return await asyncio.wait_for(self.guests.get(), SOON)


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def house(
    limits: Limits | None = None,
    *,
    echo: bool = True,
    also: tuple[str, ...] = (),
    bugs: int = 0,
    at_once: Callable[[Link], None] = lambda _: None,
) -> AsyncIterator[House]:
    sock = listen("127.0.0.1", 0)
    ours = House(sock.getsockname()[1], echo, at_once)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: ours.bugs.append(context))
    door = Door(ours.welcome, same_host(also), limits)
    server = web_server(app, door)
    serving = asyncio.ensure_future(server.serve(sockets=[sock]))
    try:
        yield ours
    finally:
        server.should_exit = True
        await asyncio.wait_for(serving, SOON)
    assert (len(ours.bugs), door.inside, server.server_state.connections) == (bugs, set(), set())


def visit(ours: House, **options: Any) -> Any:
    return connect(ours.url, compression=None, ping_interval=None, **options)


async def closing(client: ClientConnection) -> tuple[int, str]:
    """What the server said when it closed."""
    await asyncio.wait_for(client.wait_closed(), SOON)
    assert client.close_code is not None
    return client.close_code, client.close_reason or ""


class Raw:
    """Bytes, without a library that would keep us from writing wrong ones."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def closing(self) -> int:
        """The code of the close frame that comes; its reason fits in a frame's short form."""
        head = await asyncio.wait_for(self.reader.readexactly(2), SOON)
        assert head[0] == 0x80 | Opcode.CLOSE
        content = await asyncio.wait_for(self.reader.readexactly(head[1]), SOON)
        assert await asyncio.wait_for(self.reader.read(), SOON) == b""
        self.writer.close()
        return int(struct.unpack("!H", content[:2])[0])


def handshake(path: str = PATH, method: str = "GET", **changed: str | None) -> bytes:
    headers: dict[str, str | None] = {
        "Host": "chat.example.org",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": KEY,
        "Sec-WebSocket-Version": "13",
    }
    headers |= {name.replace("_", "-"): value for name, value in changed.items()}
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()


@asynccontextmanager
async def raw(ours: House, request: bytes | None = None) -> AsyncIterator[Raw]:
    """With a request, only that is sent; without, the handshake is over when this begins."""
    reader, writer = await asyncio.open_connection("127.0.0.1", ours.port)
    writer.write(handshake() if request is None else request)
    if request is None:
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SOON)
        assert answer.startswith(b"HTTP/1.1 101 ")
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()


async def refusal(ours: House, request: bytes) -> tuple[int, bytes]:
    async with raw(ours, request) as line:
        answer = await asyncio.wait_for(line.reader.readuntil(b"\r\n\r\n"), SOON)
        head = answer.lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        content = await asyncio.wait_for(line.reader.readexactly(length), SOON)
        assert b"application/problem+json" in head
    return int(answer.split()[1]), content


def masked(opcode: Opcode, data: bytes, fin: bool = True) -> bytes:
    return WireFrame(opcode, data, fin).serialize(mask=True)


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
        assert caller == Caller(address="127.0.0.1", authorization="Bearer secret", cookie="session=secret")
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
        assert bundle.wire is not None
        assert all(frame.wire is not None for frame in bundle.frames)


async def test_a_text_over_the_limit_closes_with_1009_in_one_frame_and_in_fragments() -> None:
    async with house(Limits(frame=1000)) as ours:
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
        for _ in range(20):
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


async def test_a_handshake_with_endless_headers_is_refused() -> None:
    async with house() as ours, raw(ours, handshake(X_Long="x" * 20_000)) as line:
        assert (await line.reader.readline()).startswith(b"HTTP/1.1 431 ")


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
    async with house(Limits(connections=1)) as ours:
        async with visit(ours):
            guest = await ours.guest()
            with pytest.raises(InvalidStatus) as full:
                await visit(ours)
            assert full.value.response.status_code == 503
        await asyncio.wait_for(guest.left.wait(), SOON)
        async with visit(ours):
            await ours.guest()


async def test_who_knocks_and_says_nothing_is_not_waited_for() -> None:
    async with house(Limits(handshake=0.05)) as ours, raw(ours, b"GET ") as line:
        assert await asyncio.wait_for(line.reader.read(), SOON) == b""


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
    def turned_away(link: Link) -> None:
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
    async with house(Limits(farewell=0.1)) as ours, raw(ours) as line:
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
    async with house(Limits(farewell=0.1)) as ours, raw(ours) as line:
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
        hear = guest.heard

        def one_at_a_time(text: bytes) -> None:
            guest.link.pause()
            hear(text)

        guest.heard = one_at_a_time  # type: ignore[method-assign]  # this guest only
        line.writer.write(b"".join(masked(Opcode.TEXT, b"%d" % number) for number in range(100)))
        for number in range(100):
            assert await asyncio.wait_for(guest.texts.get(), SOON) == b"%d" % number
            assert guest.texts.empty()
            guest.link.resume()


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
    async with house(Limits(hurried_farewell=0.1)) as ours:
        client = await visit(ours)
        guest = await ours.guest()
        reader, writer = await asyncio.open_connection("127.0.0.1", ours.port)
        writer.write(handshake(Sec_WebSocket_Key=base64.b64encode(os.urandom(16)).decode()))
        await reader.readuntil(b"\r\n\r\n")
        silent = await ours.guest()
    assert await closing(client) == (4001, "server going away")
    assert (guest.departures, silent.departures) == (1, 1)
    writer.close()
