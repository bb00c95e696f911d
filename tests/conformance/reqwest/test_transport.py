"""The contract of an HTTP transport on pyreqwest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from waypost.adapters.reqwest.transport import ReqwestTransport
from waypost_testing.contracts.platform.http_transport import (
    HttpTransportContract,
    answer,
    listening,
    other_side,
    post,
    read_request,
)


@pytest.fixture
async def transport() -> AsyncIterator[ReqwestTransport]:
    transport = ReqwestTransport("waypost-test/1")
    yield transport
    await transport.close()


class TestReqwestWire(HttpTransportContract):
    async def test_it_says_who_it_is(self, transport: ReqwestTransport) -> None:
        async with other_side(answer()) as other:
            await post(transport, other.url)
        assert b"user-agent: waypost-test/1\r\n" in other.requests[0].lower()

    @pytest.mark.may_block("the answer must arrive while the loop cannot see it")
    async def test_a_cancel_at_the_moment_of_the_answer_is_not_dropped(self, transport: ReqwestTransport) -> None:
        """The client itself drops every second one; a waiter for the cancelled call would wait for ever."""

        async def answer_and_cancel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(answer())
            time.sleep(0.05)  # noqa: ASYNC251  # by now it has arrived
            asking.cancel()

        async with listening(answer_and_cancel) as address:
            for _ in range(8):
                asking = asyncio.ensure_future(post(transport, f"http://{address}/"))
                await asyncio.wait([asking])
                assert asking.cancelled()
