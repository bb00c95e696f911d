"""Small bugs of following, one per mutation: each must be seen by the checker that is there for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from waypost.adapters.sql.live import SqlFollows
from waypost.adapters.sql.talks import Talks, team_of
from waypost.flow import follow
from waypost.http import frames
from waypost.http.session import Session
from waypost.model.chat import Following
from waypost.model.ids import OrgId, UserId
from waypost.model.time import hours
from waypost.runtime.simulation.cluster import Dress, real


def feeds_that_are_read_on_hints_only(patch: pytest.MonkeyPatch) -> Dress:
    patch.setattr(follow, "LOOK_EVERY", hours(20))
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
