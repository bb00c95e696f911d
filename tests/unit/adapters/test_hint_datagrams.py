"""Topics sent to another process: in as few datagrams as possible, none split."""

from __future__ import annotations

import pytest

from waypost.adapters.local.hints import _LARGEST, _datagrams


@pytest.mark.parametrize("count", [0, 1, 3, 4_000, 50_000])
def test_every_topic_arrives_whole(count: int) -> None:
    topics = [f"message:{10**12 + number}" for number in range(count)]
    datagrams = list(_datagrams(topics))
    assert [topic for datagram in datagrams for topic in datagram.decode().split("\n")] == topics
    assert all(len(datagram) <= _LARGEST for datagram in datagrams)
    assert len(datagrams) <= -(-count * 22 // _LARGEST) + 1
