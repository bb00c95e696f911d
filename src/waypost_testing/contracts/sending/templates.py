"""The contract of templates: lists are replaced whole, only newer updates change a status, each org has its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from waypost.model.ids import OrgId
from waypost.model.template import Template, TemplateStatusChange
from waypost.model.time import Instant, seconds
from waypost.ports.ledger import Ledger
from waypost.ports.platform.failure import Rejected
from waypost.rules.content.template_reading import read
from waypost_testing.contracts.examples import ORG, OTHER_ORG, T0, Ledgers, an_org, later

WABA = "102290129340398"
OTHER_WABA = "202290129340398"
PAUSED = TemplateStatusChange("order", "en", "PAUSED")


def a_template(name: str = "order", language: str = "en", **fields: Any) -> Template:
    body = {"type": "BODY", "text": f"Hello {{{{1}}}} ☃ \0 from {name}"}
    found = read({"name": name, "language": language, "status": "APPROVED", "components": [body], **fields})
    assert found is not None
    return found


def second(n: float) -> Instant:
    return later(seconds(n))


class TemplatesContract:
    @pytest.fixture(autouse=True)
    async def orgs(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(ORG), None)
        await ledger.accounts.create_org(an_org(OTHER_ORG, second(1)), None)

    async def test_a_list_is_read_as_it_was_stored_by_name_and_language(self, ledger: Ledger) -> None:
        listed = [a_template("order", "en"), a_template("hello", "de"), a_template("order", "de"), a_template("_x")]
        assert await ledger.templates.synced(ORG, WABA) is None
        assert await ledger.templates.replace(ORG, WABA, listed, T0)
        assert await ledger.templates.of(ORG, WABA) == sorted(listed, key=lambda each: (each.name, each.language))

    async def test_a_sync_tells_when_it_was_and_that_something_changed(self, ledger: Ledger) -> None:
        await ledger.templates.replace(ORG, WABA, [], T0)
        first = await ledger.templates.synced(ORG, WABA)
        await ledger.templates.replace(ORG, WABA, [a_template()], second(1))
        then = await ledger.templates.synced(ORG, WABA)
        assert first is not None
        assert then is not None
        assert (first.at, then.at) == (T0, second(1))
        assert first.version != then.version
        assert await ledger.templates.change_status(ORG, WABA, PAUSED, second(2))
        assert await ledger.templates.synced(ORG, WABA) not in (first, then)

    async def test_what_is_not_in_the_new_list_is_gone(self, ledger: Ledger) -> None:
        await ledger.templates.replace(ORG, WABA, [a_template("a"), a_template("b")], T0)
        await ledger.templates.replace(ORG, WABA, [a_template("b")], second(1))
        assert await ledger.templates.of(ORG, WABA) == [a_template("b")]
        await ledger.templates.replace(ORG, WABA, [], second(2))
        assert await ledger.templates.of(ORG, WABA) == []

    async def test_a_list_that_was_asked_for_earlier_changes_nothing(self, ledger: Ledger) -> None:
        await ledger.templates.replace(ORG, WABA, [a_template("new")], second(1))
        before = await ledger.templates.synced(ORG, WABA)
        assert not await ledger.templates.replace(ORG, WABA, [a_template("old")], T0)
        assert await ledger.templates.of(ORG, WABA) == [a_template("new")]
        assert await ledger.templates.synced(ORG, WABA) == before

    async def test_of_many_syncs_at_once_the_latest_one_stays_whole(self, ledgers: Ledgers) -> None:
        lists = [[a_template(f"t{n}-{each}") for each in range(5)] for n in range(10)]
        await asyncio.gather(
            *(ledgers[n % 2].templates.replace(ORG, WABA, listed, second(n)) for n, listed in enumerate(lists))
        )
        assert await ledgers[0].templates.of(ORG, WABA) == lists[-1]

    async def test_a_template_that_is_listed_twice_is_kept_once(self, ledger: Ledger) -> None:
        await ledger.templates.replace(ORG, WABA, [a_template(), a_template(status="PAUSED")], T0)
        assert await ledger.templates.of(ORG, WABA) == [a_template(status="PAUSED")]

    async def test_accounts_and_orgs_have_lists_of_their_own(self, ledger: Ledger) -> None:
        places = [(ORG, WABA), (ORG, OTHER_WABA), (OTHER_ORG, WABA)]
        for n, (org, waba_id) in enumerate(places):
            await ledger.templates.replace(org, waba_id, [a_template(f"t{n}")], T0)
        assert not await ledger.templates.change_status(OTHER_ORG, OTHER_WABA, PAUSED, second(1))
        for n, (org, waba_id) in enumerate(places):
            assert await ledger.templates.of(org, waba_id) == [a_template(f"t{n}")]

    async def test_a_list_of_an_org_that_does_not_exist_is_rejected_whole(self, ledger: Ledger) -> None:
        unknown = OrgId("nobody")
        with pytest.raises(Rejected):
            await ledger.templates.replace(unknown, WABA, [a_template()], T0)
        assert await ledger.templates.of(unknown, WABA) == []

    async def test_a_status_changes_one_template_and_the_same_news_again_nothing(self, ledger: Ledger) -> None:
        await ledger.templates.replace(ORG, WABA, [a_template("order", "de"), a_template("order", "en")], T0)
        assert await ledger.templates.change_status(ORG, WABA, PAUSED, second(1))
        assert not await ledger.templates.change_status(ORG, WABA, PAUSED, second(1))
        expected = [a_template("order", "de"), replace(a_template("order", "en"), status="PAUSED")]
        assert await ledger.templates.of(ORG, WABA) == expected

    async def test_older_news_never_overwrites_newer(self, ledger: Ledger) -> None:
        await ledger.templates.replace(ORG, WABA, [a_template()], second(5))
        assert not await ledger.templates.change_status(ORG, WABA, PAUSED, second(4))
        assert await ledger.templates.change_status(ORG, WABA, PAUSED, second(9))
        assert not await ledger.templates.change_status(
            ORG, WABA, TemplateStatusChange("order", "en", "APPROVED"), second(8)
        )
        (found,) = await ledger.templates.of(ORG, WABA)
        assert found.status == "PAUSED"

    async def test_a_status_told_during_a_sync_stays_and_yields_to_the_next(self, ledger: Ledger) -> None:
        await ledger.templates.replace(ORG, WABA, [a_template()], T0)
        await ledger.templates.change_status(ORG, WABA, PAUSED, second(2))
        await ledger.templates.replace(ORG, WABA, [a_template()], second(1))
        assert [each.status for each in await ledger.templates.of(ORG, WABA)] == ["PAUSED"]
        await ledger.templates.replace(ORG, WABA, [a_template()], second(3))
        assert [each.status for each in await ledger.templates.of(ORG, WABA)] == ["APPROVED"]

    async def test_a_template_nobody_lists_has_no_status(self, ledger: Ledger) -> None:
        assert not await ledger.templates.change_status(ORG, WABA, PAUSED, T0)
        await ledger.templates.replace(ORG, WABA, [a_template("other")], T0)
        assert not await ledger.templates.change_status(ORG, WABA, PAUSED, second(1))
        assert await ledger.templates.synced(ORG, OTHER_WABA) is None

    async def test_stale_lists_are_found_oldest_first(self, ledger: Ledger) -> None:
        for n, (org, waba_id) in enumerate([(ORG, WABA), (OTHER_ORG, WABA), (ORG, OTHER_WABA)]):
            await ledger.templates.replace(org, waba_id, [], second(9 - n))
        assert await ledger.templates.stale(second(7)) == []
        assert await ledger.templates.stale(second(9)) == [(ORG, OTHER_WABA), (OTHER_ORG, WABA)]
