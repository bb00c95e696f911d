"""Small bugs of following, one per mutation: each must be seen by the checker that is there for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from waypost.adapters.sql.handing_over import SqlHandOver
from waypost.adapters.sql.live import SqlFollows
from waypost.adapters.sql.plan import each
from waypost.adapters.sql.talks import Talks, team_of
from waypost.flow import follow, hand_over
from waypost.flow.world import World
from waypost.http import frames
from waypost.http.session import Session
from waypost.model.chat import Following
from waypost.model.ids import OrgId, UserId
from waypost.model.reading import Standing, Stretch
from waypost.model.time import hours
from waypost.ports.hand_over import Told
from waypost.rules import hand_over as rule
from waypost.rules import reading
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


def a_log_that_is_confirmed_before_it_was_asked(patch: pytest.MonkeyPatch) -> Dress:
    async def confirm_first(behind: Sequence[Standing], world: World) -> Sequence[Standing]:
        ledger, stretches = world.ledger.hand_over, reading.stretches(behind, hand_over.AT_ONCE)
        told = await ledger.told(stretches)
        await ledger.confirm(stretches, world.clock.now())
        await hand_over.deliver(told, world)
        return reading.left(behind, stretches)

    patch.setattr(hand_over, "hand_over", confirm_first)
    return real


def bodies_that_go_before_the_log_has_confirmed_them(patch: pytest.MonkeyPatch) -> Dress:
    real_told = SqlHandOver.told

    async def told(self: SqlHandOver, stretches: Sequence[Stretch]) -> Sequence[Told]:
        found = await real_told(self, stretches)
        entries = {one.waiting.entry.spot: one.waiting.entry for one in found if one.waiting is not None}
        rows = sorted((entry.conversation_id, entry.position, entry.id_at) for entry in entries.values())
        await self._engine.transact(each("entry_empty", rows))
        return found

    patch.setattr(SqlHandOver, "told", told)
    return real


def what_is_taken_back_and_stays_in_the_log(patch: pytest.MonkeyPatch) -> Dress:
    real_parcel = rule.parcel

    def parcel(*given: Any) -> rule.Parcel:
        return real_parcel(*given)._replace(erased={})

    patch.setattr(rule, "parcel", parcel)
    return real
