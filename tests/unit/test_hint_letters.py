"""Topics on their way to another process: as few datagrams as hold them, none cut in two."""

from __future__ import annotations

import pytest

from waypost.adapters.local.hints import _LARGEST, _letters


@pytest.mark.parametrize("count", [0, 1, 3, 4_000, 50_000])
def test_every_topic_arrives_whole(count: int) -> None:
    topics = [f"message:{10**12 + number}" for number in range(count)]
    letters = list(_letters(topics))
    assert [topic for letter in letters for topic in letter.decode().split("\n")] == topics
    assert all(len(letter) <= _LARGEST for letter in letters)
    assert len(letters) <= -(-count * 22 // _LARGEST) + 1
