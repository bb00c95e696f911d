"""The contract of quick replies: names are unique regardless of case, a rename is one step, and there is a limit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from waypost.model.audit import AuditAction, Entity
from waypost.model.quick_reply import QuickReply
from waypost.model.time import Instant, seconds
from waypost.ports.accounts.quick_replies import QuickReplyGone, QuickReplyLimitReached, QuickReplyNameTaken
from waypost.ports.ledger import Ledger
from waypost.ports.operations.audit import AuditQuery
from waypost_testing.contracts.examples import ORG, OTHER_ORG, T0, Ledgers, an_org, later

PLENTY = 100
TRAIL = AuditQuery(entity_type=Entity.QUICK_REPLY)


def a_reply(name: str = "hello", text: str = "Hello {name} ☃", **fields: Any) -> QuickReply:
    standard: dict[str, Any] = {"org_id": ORG, "updated_at": T0, "updated_by": "user_1"}
    return QuickReply(name=name, text=text, **(standard | fields))


def second(n: float) -> Instant:
    return later(seconds(n))


async def audit_trail(ledger: Ledger) -> list[tuple[str, str, str, str]]:
    """The audit trail, oldest first."""
    found = [recorded.entry for recorded in await ledger.audit.find(ORG, TRAIL, 100)]
    return [(entry.action, entry.entity_id, entry.actor, entry.details) for entry in reversed(found)]


class QuickRepliesContract:
    @pytest.fixture(autouse=True)
    async def orgs(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(), None)
        await ledger.accounts.create_org(an_org(OTHER_ORG), None)

    async def test_they_are_read_as_they_were_written_by_name_regardless_of_case(self, ledger: Ledger) -> None:
        written = [a_reply(name, f"{name}\n'quoted' \\ 👍") for name in ("b", "Änderung", "C", "a", "_x", "👍", "D-1")]
        for reply in written:
            assert await ledger.quick_replies.put(reply, PLENTY) == reply
        found = await ledger.quick_replies.of(ORG)
        assert [reply.name for reply in found] == ["_x", "a", "b", "C", "D-1", "Änderung", "👍"]
        assert sorted(found, key=lambda reply: reply.name) == sorted(written, key=lambda reply: reply.name)

    async def test_one_of_each_name_whatever_its_case_called_as_it_was_last_written(self, ledger: Ledger) -> None:
        await ledger.quick_replies.put(a_reply("Größe"), PLENTY)
        again = a_reply("GRÖSSE", "Which size?", updated_at=second(1), updated_by="user_2")
        assert await ledger.quick_replies.put(again, PLENTY) == again
        assert await ledger.quick_replies.of(ORG) == [again]
        composed, apart = a_reply("caf\u00e9"), a_reply("CAFE\u0301", updated_at=second(2))
        await ledger.quick_replies.put(composed, PLENTY)
        await ledger.quick_replies.put(apart, PLENTY)
        assert await ledger.quick_replies.of(ORG) == [apart, again]

    async def test_the_same_again_changes_nothing_and_leaves_no_entry(self, ledger: Ledger) -> None:
        first = a_reply()
        await ledger.quick_replies.put(first, PLENTY)
        assert await ledger.quick_replies.put(a_reply(updated_at=second(1), updated_by="user_2"), PLENTY) == first
        assert await ledger.quick_replies.of(ORG) == [first]
        assert await audit_trail(ledger) == [(AuditAction.QUICK_REPLY_ADDED, "hello", "user_1", "quick reply added")]

    async def test_every_change_is_told_by_whom_and_of_what(self, ledger: Ledger) -> None:
        await ledger.quick_replies.put(a_reply(), PLENTY)
        await ledger.quick_replies.put(a_reply(text="Hi", updated_by="user_2"), PLENTY)
        await ledger.quick_replies.put(a_reply("Hello", "Hi there"), PLENTY)
        assert await ledger.quick_replies.remove(ORG, "HELLO", second(1), "cli")
        assert await audit_trail(ledger) == [
            (AuditAction.QUICK_REPLY_ADDED, "hello", "user_1", "quick reply added"),
            (AuditAction.QUICK_REPLY_CHANGED, "hello", "user_2", "changed: text"),
            (AuditAction.QUICK_REPLY_RENAMED, "Hello", "user_1", "was hello; changed: text"),
            (AuditAction.QUICK_REPLY_REMOVED, "Hello", "cli", "quick reply removed"),
        ]

    async def test_one_leaves_once_and_only_its_own_org(self, ledger: Ledger) -> None:
        theirs = a_reply(org_id=OTHER_ORG)
        for reply in (a_reply(), theirs):
            await ledger.quick_replies.put(reply, PLENTY)
        assert await ledger.quick_replies.remove(ORG, "hello", T0)
        assert not await ledger.quick_replies.remove(ORG, "hello", T0)
        assert await ledger.quick_replies.of(ORG) == []
        assert await ledger.quick_replies.of(OTHER_ORG) == [theirs]

    async def test_a_full_org_changes_what_it_has_and_gets_no_new_one(self, ledger: Ledger) -> None:
        for name in ("a", "b"):
            await ledger.quick_replies.put(a_reply(name), 2)
        assert await ledger.quick_replies.put(a_reply("c"), 2) == QuickReplyLimitReached(2)
        assert await ledger.quick_replies.put(a_reply("A", "other"), 2) == a_reply("A", "other")
        assert await ledger.quick_replies.put(a_reply("c", org_id=OTHER_ORG), 2) == a_reply("c", org_id=OTHER_ORG)
        await ledger.quick_replies.remove(ORG, "b", T0)
        assert await ledger.quick_replies.put(a_reply("c"), 2) == a_reply("c")
        assert [reply.name for reply in await ledger.quick_replies.of(ORG)] == ["A", "c"]

    async def test_the_last_place_is_taken_once_however_many_ask(self, ledgers: Ledgers) -> None:
        one, other = ledgers
        asked = [(one if n % 2 else other).quick_replies.put(a_reply(f"r{n}"), 3) for n in range(12)]
        answers = await asyncio.gather(*asked)
        assert answers.count(QuickReplyLimitReached(3)) == 9
        assert len(await one.quick_replies.of(ORG)) == 3

    @pytest.mark.parametrize(
        ("old", "new"),
        [("größe", "grösse"), ("hello", "Hello"), ("caf\u00e9", "cafe\u0301"), ("hello", "moment"), ("größe", "maß")],
    )
    async def test_a_new_name_is_the_same_quick_reply_once(self, ledger: Ledger, old: str, new: str) -> None:
        beside = a_reply("thanks")
        for reply in (a_reply(old), beside):
            await ledger.quick_replies.put(reply, 2)
        renamed = a_reply(new, updated_at=second(1), updated_by="user_2")
        for _ in range(2):  # a client that missed the answer asks again
            assert await ledger.quick_replies.put(renamed, 2, old.upper()) == renamed
        assert await ledger.quick_replies.of(ORG) == sorted([renamed, beside], key=lambda reply: reply.name.lower())
        assert (await audit_trail(ledger))[2:] == [(AuditAction.QUICK_REPLY_RENAMED, new, "user_2", f"was {old}")]

    async def test_nobody_gets_a_name_that_another_has(self, ledger: Ledger) -> None:
        size, hello = a_reply("größe", "Which size?"), a_reply()
        for reply in (size, hello):
            await ledger.quick_replies.put(reply, PLENTY)
        known = await audit_trail(ledger)
        assert await ledger.quick_replies.put(a_reply("GRÖSSE"), PLENTY, "hello") == QuickReplyNameTaken("größe")
        assert await ledger.quick_replies.put(size, PLENTY, "hello") == QuickReplyNameTaken("größe")
        assert await ledger.quick_replies.put(a_reply("grösse"), PLENTY, None) == QuickReplyNameTaken("größe")
        assert await ledger.quick_replies.of(ORG) == [size, hello]
        assert await audit_trail(ledger) == known

    async def test_a_new_one_is_added_once_however_often_it_is_asked_for(self, ledger: Ledger) -> None:
        assert await ledger.quick_replies.put(a_reply(), 1, None) == a_reply()
        assert await ledger.quick_replies.put(a_reply(updated_at=second(1)), 1, None) == a_reply()
        assert await ledger.quick_replies.put(a_reply("other"), 1, None) == QuickReplyLimitReached(1)
        assert await ledger.quick_replies.of(ORG) == [a_reply()]

    async def test_what_is_gone_is_replaced_by_nothing(self, ledger: Ledger) -> None:
        theirs = a_reply(org_id=OTHER_ORG)
        await ledger.quick_replies.put(theirs, PLENTY)
        for name in ("hello", "hey"):
            assert await ledger.quick_replies.put(a_reply(name), PLENTY, "Hello") == QuickReplyGone("Hello")
        await ledger.quick_replies.put(a_reply("hey", "other words"), PLENTY)
        assert await ledger.quick_replies.put(a_reply("hey"), PLENTY, "hello") == QuickReplyGone("hello")
        assert await ledger.quick_replies.of(ORG) == [a_reply("hey", "other words")]
        assert await ledger.quick_replies.of(OTHER_ORG) == [theirs]

    async def test_one_that_is_renamed_and_removed_at_once_is_either(self, ledgers: Ledgers) -> None:
        one, other = ledgers
        for n in range(6):
            await one.quick_replies.put(a_reply(f"r{n}"), PLENTY)
        renaming = [one.quick_replies.put(a_reply(f"new{n}"), PLENTY, f"r{n}") for n in range(6)]
        removing = [other.quick_replies.remove(ORG, f"r{n}", T0) for n in range(6)]
        answers = await asyncio.gather(*renaming, *removing)
        renamed, removed = answers[:6], answers[6:]
        assert [answer == a_reply(f"new{n}") for n, answer in enumerate(renamed)] == [not gone for gone in removed]
        assert len(await one.quick_replies.of(ORG)) == removed.count(False)
