"""The contract of a wire on pyreqwest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from waypost.adapters.reqwest.wire import ReqwestWire
from waypost.testing.contracts.wire import WireContract, answer, listening, other_side, post, read_request


@pytest.fixture
async def wire() -> AsyncIterator[ReqwestWire]:
    wire = ReqwestWire("waypost-test/1")
    yield wire
    await wire.close()


class TestReqwestWire(WireContract):
    async def test_it_says_who_it_is(self, wire: ReqwestWire) -> None:
        async with other_side(answer()) as other:
            await post(wire, other.url)
        assert b"user-agent: waypost-test/1\r\n" in other.requests[0].lower()

    @pytest.mark.may_block("the answer must arrive while the loop cannot see it")
    async def test_a_cancel_at_the_moment_of_the_answer_is_not_dropped(self, wire: ReqwestWire) -> None:
        """The client itself drops every second one; whoever waits for the cancelled call would wait for ever."""

        async def answer_and_cancel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(answer())
            time.sleep(0.05)  # noqa: ASYNC251  # by now it has arrived
            asking.cancel()

        async with listening(answer_and_cancel) as address:
            for _ in range(8):
                asking = asyncio.ensure_future(post(wire, f"http://{address}/"))
                await asyncio.wait([asking])
                assert asking.cancelled()
