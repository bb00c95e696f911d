"""No answer over a real socket is unsure; a request that was never sent is a failed attempt."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.integration.conftest import OpenStage
from tests.integration.stage.harness import ON_SQLITE, Stage
from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost.ports.platform.http_transport import ConnectFailed

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def a_provider(talk: Talk) -> AsyncIterator[str]:
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


async def _read_request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    await reader.readexactly(int(length.split(b":")[1]))


def after_the_request(answer: bytes, *, reset: bool = False) -> Talk:
    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _read_request(reader)
        writer.write(answer)
        await writer.drain()
        if reset:
            linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()

    return answer_once


async def never_answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _read_request(reader)
    await reader.read()  # until the other side gives up
    writer.close()


SILENT: dict[str, Talk] = {
    "no answer": never_answers,
    "closed without an answer": after_the_request(b""),
    "reset without an answer": after_the_request(b"", reset=True),
    "half a status line": after_the_request(b"HTTP/1.1 20"),
    "half a header": after_the_request(b"HTTP/1.1 200 OK\r\ncontent-le"),
    "half a body": after_the_request(b'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"messages":[{"id":"wamid'),
    "half a chunk": after_the_request(b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"mess'),
    "no HTTP": after_the_request(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "an empty 200": after_the_request(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    "a redirect": after_the_request(b"HTTP/1.1 302 Found\r\nlocation: /login\r\ncontent-length: 0\r\n\r\n"),
}


@ON_SQLITE
@pytest.mark.parametrize("how", SILENT)
async def test_over_a_socket_whatever_is_no_answer_is_unsure(set_up: OpenStage, how: str) -> None:
    wire = ReqwestTransport("test")
    stage = await set_up(wire=wire, graph_timeout_sec=0.3)
    async with a_provider(SILENT[how]) as url:
        await stage.call("PATCH", "/api/v1/numbers/1001", {"graph_url": url})
        message_id = await stage.unsure()
        (attempt,) = await stage.attempts(message_id)
        assert attempt["status"] == "UNSURE"
    await wire.close()


@ON_SQLITE
async def test_over_a_socket_a_closed_port_is_a_failed_try(set_up: OpenStage) -> None:
    wire = ReqwestTransport("test")
    stage = await set_up(wire=wire)
    async with a_provider(never_answers) as url:
        pass  # its port is free again
    await stage.call("PATCH", "/api/v1/numbers/1001", {"graph_url": url})
    posted = await stage.send()
    await stage.becomes(posted["id"], "QUEUED", errorCode="CONNECTION_REFUSED", attemptCount=1)
    await wire.close()


@ON_SQLITE
async def test_over_a_socket_a_connection_that_is_never_made_is_unsure(set_up: OpenStage) -> None:
    wire = ReqwestTransport("test")
    stage = await set_up(wire=wire, graph_timeout_sec=0.2)
    with _full_backlog() as url:
        await stage.call("PATCH", "/api/v1/numbers/1001", {"graph_url": url})
        posted = await stage.send()
        found = await stage.becomes(posted["id"], "SENDING", errorCode="UNSURE")
        assert found["errorMessage"].startswith("no answer within")
    await wire.close()


@ON_SQLITE
async def test_over_a_socket_a_send_ends_before_its_message_may_be_sent_again(set_up: OpenStage) -> None:
    wire = ReqwestTransport("test")
    stage = await set_up(wire=wire, graph_timeout_sec=30, outbound_stale_minutes=2 / 60)
    async with a_provider(never_answers) as url:
        await stage.call("PATCH", "/api/v1/numbers/1001", {"graph_url": url})
        message_id = await stage.unsure()
        (attempt,) = await stage.attempts(message_id)
        assert attempt["errorMessage"] == "no answer within 1 s"
    await wire.close()


class _full_backlog:  # noqa: N801  # reads as a phrase
    """A port with a full backlog: connections are neither made nor refused."""

    def __enter__(self) -> str:
        self._sockets = [socket.socket()]
        self._sockets[0].bind(("127.0.0.1", 0))
        self._sockets[0].listen(0)
        host, port = self._sockets[0].getsockname()
        for _ in range(4):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex((host, port))
            self._sockets.append(waiting)
        return f"http://{host}:{port}"

    def __exit__(self, *_: object) -> None:
        for one in self._sockets:
            one.close()


@ON_SQLITE
async def test_a_kept_connection_that_the_provider_closed_is_never_used_for_a_second_send(set_up: OpenStage) -> None:
    wire = ReqwestTransport("test")
    stage = await set_up(wire=wire)
    requests = 0
    body = b'{"messages":[{"id":"wamid.%d"}]}'

    async def closes_after_each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        await _read_request(reader)
        requests += 1
        answer = body % requests
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer))
        await writer.drain()
        writer.close()

    async with a_provider(closes_after_each) as url:
        await stage.call("PATCH", "/api/v1/numbers/1001", {"graph_url": url})
        posted = []
        for n in range(10):
            posted.append(await stage.send(payloadJson={"text": f"{n}"}))
            await stage.eventually(lambda: _left_queue(stage, posted[-1]["id"]))
    statuses = [(await stage.message(message["id"]))["status"] for message in posted]
    assert statuses.count("SENT") == requests
    await wire.close()


async def _left_queue(stage: Stage, message_id: int) -> bool:
    message = await stage.message(message_id)
    return message["status"] == "SENT" or message["errorCode"] is not None


async def test_the_wire_refuses_what_cannot_be_a_request_and_shows_no_token() -> None:
    wire = ReqwestTransport("test")
    for url, token in (
        ("http://127.0.0.1:1/", "se\ncret"),
        ("http://[::::]/", "secret"),
        ("http://a:999999/", "secret"),
    ):
        with pytest.raises(ConnectFailed) as refused:
            await wire.request("POST", url, headers={"authorization": f"Bearer {token}"}, timeout=1)
        assert "secret" not in str(refused.value)
        assert refused.value.__cause__ is None
    await wire.close()
