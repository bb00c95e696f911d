"""Small bugs of following, one per mutation: each must be seen by the checker that is there for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from waypost.adapters.sql.live import SqlFollows
from waypost.adapters.sql.talks import Talks, team_of
from waypost.client.sequence import SequenceBuffer
from waypost.flow import follow
from waypost.http import frames
from waypost.http.frames import Numbered
from waypost.http.session import Session
from waypost.model.chat import FeedName, Following
from waypost.model.ids import OrgId, UserId
from waypost.model.time import hours
from waypost.rules import catchup
from waypost.runtime.simulation.cluster import Dress, real


def a_device_that_goes_live_without_what_came_meanwhile(patch: pytest.MonkeyPatch) -> Dress:
    """To a client that fetches no gaps: ours finds out, and asks."""
    real_merge = Session._merge_what_came

    def merge(self: Session) -> bool:
        self._kept = {}
        for feed in self._cursors:
            self._cursors[feed] = max(self._cursors[feed], self._gateway.tails.last(feed))
        return real_merge(self)

    patch.setattr(Session, "_merge_what_came", merge)
    patch.setattr(SequenceBuffer, "tick", lambda self, now: self._feeds and [])
    return real


def feeds_that_are_read_on_hints_only(patch: pytest.MonkeyPatch) -> Dress:
    patch.setattr(follow, "LOOK_EVERY", hours(20))
    return real


def a_cursor_that_moves_with_what_was_sent(patch: pytest.MonkeyPatch) -> Dress:
    """As if whatever left the server had arrived; and the server believes itself, not the device."""
    real_give, real_start = Session._give, catchup.start

    def give(self: Session, feed: FeedName, items: Sequence[Numbered]) -> None:
        real_give(self, feed, items)
        self._acked = {**(self._acked or {}), **self._cursors}

    def start(following: Any, feeds: Any, given: Mapping[str, int], stored: Mapping[FeedName, int]) -> catchup.Start:
        return real_start(following, feeds, {feed: given[feed] for feed in given if feed not in stored}, stored)

    patch.setattr(Session, "_give", give)
    patch.setattr(catchup, "start", start)
    return real


def a_group_that_moves_without_a_word(patch: pytest.MonkeyPatch) -> Dress:
    """It has a feed of its own from now on, and nobody is told to follow it."""
    real_tell = Talks.tell_one

    def tell_one(
        self: Talks, feed: FeedName, where: Any, kind: str, now: Any, position: Any = None, body: str = "{}"
    ) -> None:
        told = msgspec.json.decode(body)
        if kind == "joined":
            told["joins"] = None
        real_tell(self, feed, where, kind, now, position, msgspec.json.encode(told).decode())

    patch.setattr(Talks, "tell_one", tell_one)
    return real


def a_group_that_goes_on_for_who_left(patch: pytest.MonkeyPatch) -> Dress:
    patch.setattr(frames, "ends", lambda feed, change, user: False)
    patch.setattr(Session, "_leave", lambda self, feed: None)
    return real


def _untold(patch: pytest.MonkeyPatch, silent: str) -> Dress:
    real_tell = Talks.tell

    def tell(self: Talks, where: Any, kind: str, *told: Any, **more: Any) -> None:
        if kind != silent:
            real_tell(self, where, kind, *told, **more)

    patch.setattr(Talks, "tell", tell)
    return real


def a_message_that_is_taken_back_without_a_word(patch: pytest.MonkeyPatch) -> Dress:
    return _untold(patch, "deleted")


def reading_that_no_other_device_hears_of(patch: pytest.MonkeyPatch) -> Dress:
    return _untold(patch, "read")


def a_team_that_hears_of_another_orgs_customers(patch: pytest.MonkeyPatch) -> Dress:
    real_feeds = SqlFollows.feeds

    async def feeds(self: SqlFollows, org: OrgId, user: UserId) -> Sequence[Following]:
        return [
            *await real_feeds(self, org, user),
            *([] if org == "south" else [Following(team_of(OrgId("south")), 0)]),
        ]

    patch.setattr(SqlFollows, "feeds", feeds)
    return real
