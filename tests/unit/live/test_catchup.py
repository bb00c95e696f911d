"""Where a device begins, and how a page is merged with live items: in order, each once, and a gap is reported."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.model.chat import FeedName, FollowedFeed
from waypost.rules.live.catchup import CatchUpStart, FeedBounds, merge, start

USER, TEAM, GROUP = FeedName("user:7"), FeedName("team:acme"), FeedName("group:3")


class Item(msgspec.Struct, frozen=True):
    seq: int


def items(seqs: Iterable[int]) -> list[Item]:
    return [Item(seq) for seq in seqs]


@pytest.mark.parametrize(
    ("after", "page", "live", "told", "gap"),
    [
        (0, [], [], [], False),
        (3, [4, 5], [], [4, 5], False),
        (3, [], [4, 5], [4, 5], False),
        (3, [4, 5], [6, 7], [4, 5, 6, 7], False),
        (3, [4, 5], [5, 6], [4, 5, 6], False),
        (3, [4, 5], [4, 5], [4, 5], False),
        (3, [1, 2, 3], [2, 3], [], False),
        (3, [], [6], [], True),
        (3, [4], [6, 7], [4], True),
        (3, [4, 6], [5], [4, 5, 6], False),
        (3, [7, 6], [5, 4], [4, 5, 6, 7], False),
    ],
)
def test_a_page_and_what_came_live_become_one_run(
    after: int, page: list[int], live: list[int], told: list[int], gap: bool
) -> None:
    merged = merge(after, items(page), items(live))
    assert [item.seq for item in merged.items] == told
    assert merged.last == (told[-1] if told else after)
    assert merged.gap is gap


seqs = st.lists(st.integers(1, 30), max_size=20)


@given(st.integers(0, 30), seqs, seqs)
def test_a_merge_tells_the_longest_run_and_that_something_is_missing(
    after: int, page: list[int], live: list[int]
) -> None:
    merged = merge(after, items(page), items(live))
    later = {seq for seq in page + live if seq > after}
    run = [seq for seq in sorted(later) if set(range(after + 1, seq)) <= later]
    assert [item.seq for item in merged.items] == run
    assert merged.last == max([after, *run])
    assert merged.gap is (len(run) < len(later))


@given(st.integers(1, 60), st.data())
def test_pages_of_any_size_and_any_live_stream_give_every_item_once(head: int, data: st.DataObject) -> None:
    """A device that follows a merge's result has everything in the end."""
    cursor, told = 0, []
    while cursor < head:
        size = data.draw(st.integers(1, 9))
        page = range(cursor + 1, min(cursor + size, head) + 1)
        live = data.draw(st.lists(st.integers(1, head), max_size=5))
        merged = merge(cursor, items(page), items(live))
        told += [item.seq for item in merged.items]
        cursor = merged.last
    assert told == list(range(1, head + 1))


def known(head: int, oldest: int | None = 1) -> FeedBounds:
    return FeedBounds(head=head, oldest=oldest)


@pytest.mark.parametrize(
    ("of", "given_", "stored", "begins"),
    [
        (known(9), {USER: 4}, {USER: 2}, 4),
        (known(9), {}, {USER: 2}, 2),
        (known(9), {}, {}, 0),
        (known(9), {USER: 9}, {}, 9),
        (known(9), {USER: 0}, {USER: 5}, 0),
        (known(9, None), {USER: 9}, {}, 9),
        (known(9, oldest=5), {USER: 4}, {}, 4),
        (known(0, None), {}, {}, 0),
        (known(9), {"user:8": 3}, {USER: 2}, 2),
    ],
)
def test_a_device_goes_on_where_it_says_else_where_it_was(
    of: FeedBounds, given_: dict[str, int], stored: dict[FeedName, int], begins: int
) -> None:
    assert start([FollowedFeed(USER, 0)], {USER: of}, given_, stored) == CatchUpStart({USER: begins}, None)


@pytest.mark.parametrize(
    ("of", "cursor"),
    [(known(9), 10), (known(0, None), 1), (known(9, oldest=5), 3), (known(9, oldest=5), 0), (known(9, None), 8)],
)
def test_a_device_that_cannot_go_on_begins_at_the_heads_of_all_its_feeds(of: FeedBounds, cursor: int) -> None:
    feeds = {TEAM: known(30), USER: of}
    begun = start([FollowedFeed(TEAM, 0), FollowedFeed(USER, 0)], feeds, {TEAM: 12, USER: cursor}, {})
    assert begun.lost
    assert begun.cursors == {TEAM: 30, USER: of.head}


@pytest.mark.parametrize(("cursor", "begins"), [(2, 5), (5, 5), (7, 7)])
def test_nothing_of_a_group_is_told_from_before_somebody_came(cursor: int, begins: int) -> None:
    begun = start([FollowedFeed(GROUP, 5)], {GROUP: known(9)}, {GROUP: cursor}, {})
    assert begun == CatchUpStart({GROUP: begins}, None)


def test_what_is_forgotten_from_before_somebody_came_is_not_missed() -> None:
    assert start([FollowedFeed(GROUP, 5)], {GROUP: known(9, oldest=6)}, {}, {}).lost is None
