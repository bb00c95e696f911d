"""The contract of a wire on pyreqwest."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from waypost.adapters.reqwest.wire import ReqwestWire
from waypost.testing.contracts.wire import WireContract, answer, other_side, post


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
