"""The server's frames become one stream: fresh starts, resumes, resyncs, long polls, and the results of sends."""

from __future__ import annotations

from typing import Any

import pytest

from waypost.client.store import StoredState
from waypost.client.stream import Stream, settles
from waypost.client.types import Applied, Conversation, Item, Reset
from waypost.client.unread import Unread

FRESH = StoredState(None, None, [])
MINE = "user:ann"


def kept(**cursors: int) -> StoredState:
    return StoredState("e1", {name.replace("_", ":"): seq for name, seq in cursors.items()}, [])


def frame(seq: int, **fields: Any) -> dict[str, Any]:
    return {
        "type": "item",
        "feed": MINE,
        "seq": seq,
        "prev": seq - 1,
        "kind": "message",
        "conversation_id": "c",
    } | fields


def message(seq: int, sender: str = "bob", **fields: Any) -> dict[str, Any]:
    said = {"message_id": f"m{seq}", "conversation_id": "c", "position": seq, "sender_id": sender}
    return frame(seq, message=said | fields)


def seqs(applied: list[Applied]) -> list[int]:
    return [each.seq for each in applied if isinstance(each, Item)]


def test_a_fresh_device_says_nothing_of_cursors_and_starts_at_the_heads() -> None:
    stream = Stream(FRESH, hold=500)
    assert stream.resume_point() == {}
    assert stream.welcome({"epoch": "e1", "heads": {MINE: 7}}) == [Reset("fresh", "e1", {MINE: 7})]
    assert stream.resume_point() == {"epoch": "e1", "cursors": {MINE: 7}}
    assert stream.me == "ann"
    assert seqs(stream.item(frame(7), 0)) == []
    assert seqs(stream.item(frame(8), 0)) == [8]


def test_a_device_that_comes_back_goes_on_and_forgets_feeds_that_ended() -> None:
    stream = Stream(kept(user_ann=4, group_7=2), hold=500)
    assert stream.resume_point() == {"epoch": "e1", "cursors": {MINE: 4, "group:7": 2}}
    assert stream.welcome({"epoch": "e1", "heads": {MINE: 6}}) == []
    assert seqs(stream.item(frame(5), 0)) == [5]
    assert stream.resume_point()["cursors"] == {MINE: 5}


def test_a_second_welcome_changes_nothing() -> None:
    stream = Stream(FRESH, hold=500)
    welcome = {"epoch": "e1", "heads": {MINE: 7}}
    stream.welcome(welcome)
    stream.item(frame(8), 0)
    assert stream.welcome(welcome) == []
    assert stream.resume_point()["cursors"] == {MINE: 8}


def test_a_feed_that_ended_does_not_begin_anew_when_live_is_said_again() -> None:
    stream = Stream(kept(user_ann=1, group_7=9), hold=500)
    both = {MINE: 1, "group:7": 9}
    stream.welcome({"epoch": "e1", "heads": both})
    stream.live({"heads": both}, 0)
    assert seqs(stream.item(frame(2, kind="members", conversation_id="7", removed=["ann"]), 0)) == [2]
    assert stream.item(frame(10, feed="group:7"), 0) == [], "a late one, twice told"
    assert stream.live({"heads": {MINE: 2}}, 0) == []
    assert stream.resume_point()["cursors"] == {MINE: 2}
    assert stream.buffer.tick(10_000) == []


def test_a_resync_starts_over_once() -> None:
    stream = Stream(kept(user_ann=4), hold=500)
    told = {"epoch": "e2", "heads": {MINE: 90}, "reason": "retention"}
    assert stream.resync(told) == [Reset("retention", "e2", {MINE: 90})]
    assert seqs(stream.item(frame(91), 0)) == [91]
    assert stream.resync(told) == []
    assert stream.resume_point() == {"epoch": "e2", "cursors": {MINE: 91}}


def test_a_resync_of_the_same_epoch_counts_when_it_is_ahead() -> None:
    stream = Stream(kept(user_ann=4), hold=500)
    assert stream.resync({"epoch": "e1", "heads": {MINE: 90}}) == [Reset("resync_required", "e1", {MINE: 90})]


def test_a_long_poll_gives_the_same_as_a_socket() -> None:
    stream = Stream(FRESH, hold=500)
    first = {"epoch": "e1", "heads": {MINE: 2}, "items": [], "resync_required": False}
    assert stream.synced(first, 0) == [Reset("fresh", "e1", {MINE: 2})]
    page = {"epoch": "e1", "heads": {MINE: 4}, "items": [frame(3), frame(4), "nonsense"], "resync_required": False}
    assert seqs(stream.synced(page, 0)) == [3, 4]
    assert seqs(stream.synced(page, 1)) == []
    other = {"epoch": "e2", "heads": {MINE: 1}, "items": [], "resync_required": True}
    assert stream.synced(other, 2) == [Reset("resync_required", "e2", {MINE: 1})]


def test_a_page_that_ends_before_its_head_leaves_a_gap_to_fetch() -> None:
    stream = Stream(kept(user_ann=2), hold=500)
    stream.synced({"epoch": "e1", "heads": {MINE: 9}, "items": [frame(3)]}, 0)
    assert stream.buffer.tick(500) == [MINE]


@pytest.mark.parametrize("told", [{}, {"heads": None}, {"heads": {"user:ann": "7"}}, {"heads": [1]}])
def test_heads_that_are_none_break_nothing(told: dict[str, Any]) -> None:
    stream = Stream(kept(user_ann=4), hold=500)
    stream.pong(told, 0)
    assert stream.buffer.tick(9999) == []


def test_the_own_message_settles_its_send() -> None:
    stream = Stream(kept(user_ann=4), hold=500)
    (own,) = stream.item(message(5, "ann", client_message_id="x"), 0)
    (strange,) = stream.item(message(6, "bob", client_message_id="x"), 0)
    (plain,) = stream.item(frame(7, kind="read"), 0)
    (broken,) = stream.item(frame(8, message={"message_id": 3}), 0)
    assert settles(own, stream.me) == ("x", "m5", 5)
    assert [settles(each, stream.me) for each in (strange, plain, broken)] == [None, None, None]


def test_unread_is_what_the_server_counted_and_what_others_wrote_since() -> None:
    stream = Stream(kept(user_ann=0), hold=500)
    unread = Unread(stream)
    assert unread.count("c") is None
    unread.set_count(Conversation(conversation_id="c", kind="group", unread=2, last_message={"position": 2}))
    for told in (message(1), message(2), message(3), message(4, "ann"), message(5)):
        for applied in stream.item(told, 0):
            unread.applied(applied)
    assert unread.count("c") == 4
    for applied in stream.item(frame(6, kind="read"), 0):
        unread.applied(applied)
    assert unread.count("c") is None
