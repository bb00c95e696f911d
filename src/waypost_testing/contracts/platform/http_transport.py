"""The contract of an HTTP transport: one request out, and one of four definite outcomes.

The other side is a tiny server in the test's own loop that does on each connection exactly what the test says.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import pytest

from waypost.ports.platform.http_transport import (
    ConnectFailed,
    ConnectionCut,
    HttpReply,
    HttpTransport,
    ReplyTimedOut,
    ReplyTooLarge,
)

ENOUGH = 10.0
"""Seconds; nothing here takes as long."""
SHORT = 0.25

Behaviour: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return head + await reader.readexactly(length)


@asynccontextmanager
async def listening(behave: Behaviour) -> AsyncIterator[str]:
    """The address of a server that does this on each connection; connections still open at the end are dropped."""
    connections: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await behave(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the caller hung up
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        connections.add(asyncio.ensure_future(serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for connection in connections:
            connection.cancel()
        for writer in writers:
            writer.transport.abort()  # a close would wait for a caller that no longer reads
        await asyncio.gather(*connections, *(writer.wait_closed() for writer in writers), return_exceptions=True)


class RecordingServer:
    """The other side: its address, and every request that reached it."""

    def __init__(self, address: str) -> None:
        self.url = f"http://{address}/v23.0/1/messages"
        self.requests: list[bytes] = []


@asynccontextmanager
async def other_side(*answers: bytes | None, then: str = "keep") -> AsyncIterator[RecordingServer]:
    """Answer each request with the next of these byte strings (None: no answer), then keep, close or reset."""
    left = list(answers)
    requests: list[bytes] = []

    async def answer_each(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while left:
            requests.append(await read_request(reader))
            writer.write(left.pop(0) or b"")
            await writer.drain()
            if then == "reset":
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if then != "keep":
                return
        requests.append(await read_request(reader))

    async with listening(answer_each) as address:
        other = RecordingServer(address)
        other.requests = requests
        yield other


def answer(status: int = 200, body: bytes = b"{}", *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 %d Whatever" % status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join([*lines, b"", body])


async def post(transport: HttpTransport, url: str, timeout: float = ENOUGH, body: bytes = b'{"to":"+49"}') -> HttpReply:
    return await transport.request(
        "POST", url, headers={"Content-Type": "application/json"}, body=body, timeout=timeout
    )


def closed_port() -> int:
    """A port of this machine without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class HttpReplyContract:
    async def test_a_reply_comes_back_whole(self, transport: HttpTransport) -> None:
        sent_reply = answer(
            200, b'{"messages":[{"id":"wamid.A"}]}', b"Content-Type: application/json", b"X-FB-Trace: T"
        )
        async with other_side(sent_reply) as other:
            reply = await post(transport, other.url)
        assert (reply.status, json.loads(reply.body)) == (200, {"messages": [{"id": "wamid.A"}]})
        assert reply.headers["x-fb-trace"] == "T"
        assert all(name == name.lower() for name in reply.headers)

    @pytest.mark.parametrize("status", [200, 201, 400, 401, 403, 404, 429, 500, 502, 503, 504])
    async def test_every_status_is_a_reply(self, status: int, transport: HttpTransport) -> None:
        async with other_side(answer(status, b"body", b"Retry-After: 7")) as other:
            reply = await post(transport, other.url)
        assert (reply.status, reply.body, reply.headers["retry-after"]) == (status, b"body", "7")
        assert len(other.requests) == 1

    async def test_a_redirect_is_a_reply_and_not_followed(self, transport: HttpTransport) -> None:
        async with other_side(answer()) as elsewhere:
            async with other_side(answer(307, b"", b"Location: " + elsewhere.url.encode())) as other:
                assert (await post(transport, other.url)).status == 307
            assert elsewhere.requests == []

    async def test_what_is_sent_is_what_was_asked_for(self, transport: HttpTransport) -> None:
        async with other_side(answer()) as other:
            headers = {"Authorization": "Bearer token", "Content-Type": "application/json"}
            await transport.request("POST", other.url, headers=headers, body=b'{"a":1}', timeout=ENOUGH)
        head, _, body = other.requests[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /v23.0/1/messages HTTP/1.1\r\n")
        assert b"authorization: bearer token" in head.lower()
        assert b"content-type: application/json" in head.lower()
        assert body == b'{"a":1}'

    async def test_a_reply_in_pieces_is_put_together(self, transport: HttpTransport) -> None:
        sent_reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n3\r\nabc\r\n0\r\n\r\n"
        async with other_side(sent_reply) as other:
            assert (await post(transport, other.url)).body == b"{}abc"

    async def test_a_large_reply_is_read_to_its_end(self, transport: HttpTransport) -> None:
        body = b"x" * 3_000_000
        async with other_side(answer(200, body)) as other:
            assert (await post(transport, other.url)).body == body

    async def test_many_requests_at_once_get_each_their_own_reply(self, transport: HttpTransport) -> None:
        async def one(n: int) -> bytes:
            async with other_side(answer(200, b"%d" % n)) as other:
                return (await post(transport, other.url)).body

        assert await asyncio.gather(*map(one, range(30))) == [b"%d" % n for n in range(30)]

    async def test_a_second_request_may_use_the_same_connection(self, transport: HttpTransport) -> None:
        async with other_side(answer(200, b"one"), answer(200, b"two")) as other:
            assert [(await post(transport, other.url)).body for _ in range(2)] == [b"one", b"two"]
        assert len(other.requests) == 2


class ReplyLimitContract:
    async def test_a_reply_as_large_as_the_limit_comes_back_whole(self, transport: HttpTransport) -> None:
        async with other_side(answer(200, b"x" * 100_000)) as other:
            assert await got(transport, other.url, 100_000) == b"x" * 100_000

    async def test_a_reply_that_says_it_is_larger_is_not_read(self, transport: HttpTransport) -> None:
        sent_reply = b"HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n"  # and then nothing
        async with other_side(sent_reply) as other:
            with pytest.raises(ReplyTooLarge):
                await got(transport, other.url, 100_000)

    async def test_a_reply_that_never_ends_is_read_up_to_the_limit(self, transport: HttpTransport) -> None:
        async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
                await writer.drain()

        async with listening(pour) as address:
            with pytest.raises(ReplyTooLarge):
                await got(transport, f"http://{address}/", 100_000)

    async def test_a_reply_that_is_cut_below_the_limit_is_cut(self, transport: HttpTransport) -> None:
        sent_reply = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"
        async with other_side(sent_reply, then="close") as other:
            with pytest.raises(ConnectionCut):
                await got(transport, other.url, 100_000)

    async def test_a_reply_below_the_limit_that_never_ends_is_timed_out(self, transport: HttpTransport) -> None:
        sent_reply = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"
        async with other_side(sent_reply) as other:
            with pytest.raises(ReplyTimedOut):
                await got(transport, other.url, 100_000, SHORT)


async def got(transport: HttpTransport, url: str, limit: int, timeout: float = ENOUGH) -> bytes:
    return (await transport.request("GET", url, headers={}, timeout=timeout, limit=limit)).body


class ConnectFailedContract:
    async def test_a_closed_port_refuses(self, transport: HttpTransport) -> None:
        with pytest.raises(ConnectFailed):
            await post(transport, f"http://127.0.0.1:{closed_port()}/")

    async def test_a_name_that_does_not_exist_refuses(self, transport: HttpTransport) -> None:
        with pytest.raises(ConnectFailed):
            await post(transport, "http://nobody.invalid/")

    async def test_a_side_that_speaks_no_tls_refuses(self, transport: HttpTransport) -> None:
        """The request is only sent once the handshake is done."""

        async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        async with listening(speak_plainly) as address:
            with pytest.raises(ConnectFailed):
                await post(transport, f"https://{address}/")


class ReplyTimedOutContract:
    async def test_no_answer_in_time_is_timed_out(self, transport: HttpTransport) -> None:
        async with other_side(None) as other:
            with pytest.raises(ReplyTimedOut):
                await post(transport, other.url, SHORT)
        assert len(other.requests) == 1

    async def test_an_answer_that_never_ends_is_timed_out(self, transport: HttpTransport) -> None:
        async with other_side(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{") as other:
            with pytest.raises(ReplyTimedOut):
                await post(transport, other.url, SHORT)

    async def test_a_head_that_never_ends_is_timed_out(self, transport: HttpTransport) -> None:
        async with other_side(b"HTTP/1.1 200 OK\r\nContent-") as other:
            with pytest.raises(ReplyTimedOut):
                await post(transport, other.url, SHORT)

    async def test_a_connection_that_nobody_takes_is_timed_out(self, transport: HttpTransport) -> None:
        """The backlog is full, so even the TCP handshake is never answered."""
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            address = listener.getsockname()
            fillers = [socket.socket() for _ in range(4)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(address)
            with pytest.raises(ReplyTimedOut):
                await post(transport, f"http://127.0.0.1:{address[1]}/", SHORT)
            for filler in fillers:
                filler.close()

    async def test_the_limit_covers_the_whole_call(self, transport: HttpTransport) -> None:
        """A trickle that never pauses for long does not extend it."""

        async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)

        async with listening(trickle) as address:
            with pytest.raises(ReplyTimedOut):
                async with asyncio.timeout(ENOUGH):
                    await post(transport, f"http://{address}/", SHORT)

    async def test_a_slow_answer_within_the_limit_is_a_reply(self, transport: HttpTransport) -> None:
        async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            for byte in answer(200, b"slow"):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0)

        async with listening(slowly) as address:
            assert (await post(transport, f"http://{address}/")).body == b"slow"


class ConnectionCutContract:
    """The request may have been sent: never ConnectFailed, and never sent a second time."""

    @pytest.mark.parametrize("then", ["close", "reset"])
    @pytest.mark.parametrize(
        "sent_reply",
        [
            None,
            b"HTTP/1.1 2",
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{half",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
        ],
        ids=[
            "no answer",
            "within the status",
            "within the head",
            "before the body",
            "within the body",
            "within a chunk",
        ],
    )
    async def test_a_connection_that_breaks_is_cut(
        self, sent_reply: bytes | None, then: str, transport: HttpTransport
    ) -> None:
        async with other_side(sent_reply, None, None, then=then) as other:
            with pytest.raises(ConnectionCut):
                await post(transport, other.url)
        assert len(other.requests) == 1

    async def test_nonsense_for_an_answer_is_cut(self, transport: HttpTransport) -> None:
        async with other_side(b"SSH-2.0-OpenSSH_9.2\r\n", None, then="close") as other:
            with pytest.raises(ConnectionCut):
                await post(transport, other.url)
        assert len(other.requests) == 1

    async def test_a_connection_taken_and_dropped_unread_is_cut(self, transport: HttpTransport) -> None:
        taken = 0

        async def drop(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            nonlocal taken
            taken += 1

        async with listening(drop) as address:
            with pytest.raises(ConnectionCut):
                await post(transport, f"http://{address}/")
        assert taken == 1

    async def test_a_request_on_a_used_connection_is_not_sent_twice(self, transport: HttpTransport) -> None:
        async with other_side(answer(200, b"one"), None, answer(200, b"never asked for")) as other:
            assert (await post(transport, other.url)).body == b"one"
            with pytest.raises(ReplyTimedOut):
                await post(transport, other.url, SHORT)
        assert len(other.requests) == 2

    async def test_a_used_connection_that_breaks_in_the_middle_is_cut(self, transport: HttpTransport) -> None:
        seen: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            seen.append(await read_request(reader))
            writer.write(answer(200, b"one"))
            seen.append(await read_request(reader))

        async with listening(serve) as address:
            assert (await post(transport, f"http://{address}/")).body == b"one"
            with pytest.raises(ConnectionCut):
                await post(transport, f"http://{address}/")
        assert len(seen) == 2


class HttpTransportContract(
    HttpReplyContract, ReplyLimitContract, ConnectFailedContract, ReplyTimedOutContract, ConnectionCutContract
):
    pass
