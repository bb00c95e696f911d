"""Small bugs of following, one per mutation: each must be seen by the checker that is there for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from waypost.adapters.sql.conversations.devices import SqlDeviceFeeds
from waypost.adapters.sql.engine.plan import each
from waypost.adapters.sql.history.archive_feed import SqlArchiveFeed
from waypost.adapters.sql.kernel.conversation_work import ConversationWork, team_of
from waypost.flow.history import archive, verify
from waypost.flow.live import follow
from waypost.flow.world import World
from waypost.http.live import frames
from waypost.http.live.session import Session
from waypost.model.chat import FollowedFeed
from waypost.model.consumer import ConsumerPosition, FeedRange
from waypost.model.ids import OrgId, UserId
from waypost.model.time import hours
from waypost.ports.history.archive import ArchiveItem
from waypost.rules.history import archive as rule
from waypost.rules.history import consumer_ranges
from waypost.rules.history.verification import RangeBodies
from waypost_testing.stories.cluster import CustomiseParts, unchanged_parts


def feeds_that_are_read_on_hints_only(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(follow, "LOOK_EVERY", hours(20))
    return unchanged_parts


def a_group_that_goes_on_for_who_left(patch: pytest.MonkeyPatch) -> CustomiseParts:
    patch.setattr(frames, "ends", lambda feed, change, user: False)
    patch.setattr(Session, "_leave", lambda self, feed: None)
    return unchanged_parts


def _untold(patch: pytest.MonkeyPatch, silent: str) -> CustomiseParts:
    real_tell = ConversationWork.add_feed_items

    def tell(self: ConversationWork, where: Any, kind: str, *told: Any, **more: Any) -> None:
        if kind != silent:
            real_tell(self, where, kind, *told, **more)

    patch.setattr(ConversationWork, "add_feed_items", tell)
    return unchanged_parts


def a_message_that_is_taken_back_without_a_word(patch: pytest.MonkeyPatch) -> CustomiseParts:
    return _untold(patch, "deleted")


def reading_that_no_other_device_hears_of(patch: pytest.MonkeyPatch) -> CustomiseParts:
    return _untold(patch, "read")


def a_team_that_hears_of_another_orgs_customers(patch: pytest.MonkeyPatch) -> CustomiseParts:
    real_feeds = SqlDeviceFeeds.feeds

    async def feeds(self: SqlDeviceFeeds, org: OrgId, user: UserId) -> Sequence[FollowedFeed]:
        return [
            *await real_feeds(self, org, user),
            *([] if org == "south" else [FollowedFeed(team_of(OrgId("south")), 0)]),
        ]

    patch.setattr(SqlDeviceFeeds, "feeds", feeds)
    return unchanged_parts


def bodies_that_go_without_asking_the_log(patch: pytest.MonkeyPatch) -> CustomiseParts:
    """As if it could not lose what it confirmed."""

    async def take_its_word(bodies: RangeBodies, world: World) -> set[FeedRange]:
        return set()

    patch.setattr(verify, "append_missing", take_its_word)
    return unchanged_parts


def a_log_that_is_confirmed_before_it_was_asked(patch: pytest.MonkeyPatch) -> CustomiseParts:
    """And is not asked later, either: that would mend it."""

    async def confirm_first(behind: Sequence[ConsumerPosition], world: World) -> Sequence[ConsumerPosition]:
        ledger, stretches = world.ledger.archive, consumer_ranges.stretches(behind, archive.AT_ONCE)
        told = await ledger.entries(stretches)
        await ledger.confirm(stretches, world.clock.now())
        await archive.archive_items(told, world)
        return consumer_ranges.remaining_ranges(behind, stretches)

    patch.setattr(archive, "archive_ranges", confirm_first)
    return bodies_that_go_without_asking_the_log(patch)


def bodies_that_go_before_the_log_has_confirmed_them(patch: pytest.MonkeyPatch) -> CustomiseParts:
    real_entries = SqlArchiveFeed.entries

    async def entries(self: SqlArchiveFeed, stretches: Sequence[FeedRange]) -> Sequence[ArchiveItem]:
        found = await real_entries(self, stretches)
        stored = {one.waiting.entry.archive_key: one.waiting.entry for one in found if one.waiting is not None}
        rows = sorted((entry.conversation_id, entry.position, entry.id_at) for entry in stored.values())
        await self._engine.transact(each("entry_empty", rows))
        return found

    patch.setattr(SqlArchiveFeed, "entries", entries)
    return unchanged_parts


def what_is_taken_back_and_stays_in_the_log(patch: pytest.MonkeyPatch) -> CustomiseParts:
    real_parcel = rule.archive_batch

    def parcel(*given: Any) -> rule.ArchiveBatch:
        return real_parcel(*given)._replace(erased={})

    patch.setattr(rule, "archive_batch", parcel)
    return bodies_that_go_without_asking_the_log(patch)
