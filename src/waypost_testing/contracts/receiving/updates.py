"""The contract of account updates: each is applied once, and an older one never undoes a newer one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from waypost.model.audit import PROVIDER, AuditAction, Entity
from waypost.model.dossier import ConsentStatus, DossierFields, DossierId
from waypost.model.gate import Gate, GateKind
from waypost.model.ids import NumberId, OrgId
from waypost.model.message import Channel
from waypost.model.template import TemplateStatusChange
from waypost.model.time import Instant, days, hours, minutes, seconds
from waypost.model.update import (
    AccountUpdate,
    AlertOperator,
    HoldAccount,
    HoldCause,
    JournalState,
    RefreshTemplates,
    ReleaseHold,
    SetMarketingPreference,
    SetPace,
    SetTemplateStatus,
    SetTier,
    UpdateAction,
)
from waypost.model.webhook import WebhookBatch
from waypost.ports.ledger import Ledger
from waypost.ports.operations.audit import AuditQuery
from waypost.ports.platform.failure import Rejected
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_NUMBER,
    OTHER_ORG,
    T0,
    Ledgers,
    an_item,
    claim,
    fresh,
    later,
    submit,
)
from waypost_testing.contracts.limits.gates import SECOND_NUMBER, WABA, a_hold, connect
from waypost_testing.contracts.sending.templates import a_template

BANNED = HoldAccount(HoldCause.BAN, "ACCOUNT_DISABLED", "disabled")
FREED = ReleaseHold(HoldCause.BAN)
KIND = "account:account_update"


def restricted(until: Instant | None) -> HoldAccount:
    return HoldAccount(HoldCause.RESTRICTION, "ACCOUNT_RESTRICTION", "restricted", until)


def stopped(at: Instant, *addresses: str, status: ConsentStatus = ConsentStatus.REVOKED) -> SetMarketingPreference:
    return SetMarketingPreference(addresses or (CUSTOMER,), status, at)


async def journaled(ledger: Ledger, *acts: UpdateAction, at: Instant = T0, **fields: Any) -> AccountUpdate:
    """A stored journal item, and the update it asks for."""
    standard: dict[str, Any] = {"org_id": ORG, "number": NUMBER, "waba_id": WABA, "kind": KIND, "key": fresh("update")}
    update = AccountUpdate(at=at, acts=acts, **(standard | fields))
    item = an_item(kind=update.kind, key=update.key, org_id=update.org_id, number=update.number)
    await ledger.journal.apply_webhook(WebhookBatch([], [item]), T0)
    return update


async def apply_update(
    ledger: Ledger, *acts: UpdateAction, at: Instant = T0, now: Instant | None = None, **fields: Any
) -> bool:
    (new,) = await ledger.journal.act([await journaled(ledger, *acts, at=at, **fields)], now or at)
    return new


async def held(ledger: Ledger, now: Instant = T0, org: OrgId = ORG) -> list[Gate]:
    return [gate for gate in await ledger.gates.closed(org, now) if gate.kind is GateKind.HOLD]


async def states(ledger: Ledger) -> dict[str, tuple[str, str | None]]:
    return {each.item.key: (each.item.state, each.item.error) for each in await ledger.journal.items(ORG, None, 100)}


class UpdatesContract:
    @pytest.fixture(autouse=True)
    async def numbers(self, ledger: Ledger) -> None:
        await connect(ledger)
        await connect(ledger, OTHER_NUMBER, OTHER_ORG)

    async def test_an_item_is_found_by_its_id_inside_its_org(self, ledger: Ledger) -> None:
        await journaled(ledger, key="one")
        (entry,) = await ledger.journal.items(ORG, None, 10)
        assert await ledger.journal.find(ORG, entry.id) == entry
        assert await ledger.journal.find(OTHER_ORG, entry.id) is None
        assert await ledger.journal.find(ORG, entry.id + 1) is None

    async def test_an_item_keeps_when_it_was_said(self, ledger: Ledger) -> None:
        await ledger.journal.apply_webhook(WebhookBatch([], [an_item(key="one", told_at=later(seconds(-9)))]), T0)
        (entry,) = await ledger.journal.items(ORG, None, 10)
        assert (entry.item.told_at, entry.received_at) == (later(seconds(-9)), T0)

    async def test_each_item_is_acted_on_once_whoever_brings_it(self, ledgers: Ledgers) -> None:
        update = await journaled(ledgers[0], BANNED, AlertOperator("account_update", "DISABLE"))
        answers = await asyncio.gather(*(each.journal.act([update, update], T0) for each in ledgers * 2))
        assert sum(new for answer in answers for new in answer) == 1
        assert await states(ledgers[0]) == {update.key: ("done", None)}

    async def test_an_item_ends_kept_or_failed_with_its_reason(self, ledger: Ledger) -> None:
        kept = await journaled(ledger, key="kept", state=JournalState.KEPT)
        failed = await journaled(ledger, key="failed", state=JournalState.FAILED, error="no event")
        assert list(await ledger.journal.act([kept, failed], T0)) == [True, True]
        assert await states(ledger) == {"kept": ("kept", None), "failed": ("failed", "no event")}
        assert list(await ledger.journal.act([kept], T0)) == [False]

    async def test_what_was_kept_or_failed_may_be_acted_on_later(self, ledger: Ledger) -> None:
        for key, state in (("kept", JournalState.KEPT), ("failed", JournalState.FAILED)):
            await apply_update(ledger, key=key, state=state)
            update = AccountUpdate(
                org_id=ORG, number=NUMBER, waba_id=WABA, kind=KIND, key=key, at=T0, acts=(SetTier(7),)
            )
            assert list(await ledger.journal.act([update], T0)) == [True]
        assert set((await states(ledger)).values()) == {("done", None)}

    async def test_an_item_that_is_not_there_or_anothers_changes_nothing(self, ledger: Ledger) -> None:
        theirs = await journaled(ledger, key="theirs", org_id=OTHER_ORG, number=OTHER_NUMBER)
        ours = AccountUpdate(org_id=ORG, number=NUMBER, waba_id=WABA, kind=KIND, key="nowhere", at=T0, acts=(BANNED,))
        forged = AccountUpdate(
            org_id=ORG, number=OTHER_NUMBER, waba_id=WABA, kind=KIND, key=theirs.key, at=T0, acts=(BANNED,)
        )
        assert list(await ledger.journal.act([ours, forged], T0)) == [False, False]
        assert await held(ledger) == []

    async def test_what_cannot_be_written_changes_nothing_and_marks_nothing(self, ledger: Ledger) -> None:
        good = await journaled(ledger, BANNED, key="good")
        bad = await journaled(ledger, HoldAccount(HoldCause.PRESENCE, "half of a character: \ud83d", "x"), key="bad")
        with pytest.raises(Rejected):
            await ledger.journal.act([good, bad], T0)
        assert await held(ledger) == []
        assert await states(ledger) == {"good": ("pending", None), "bad": ("pending", None)}

    async def test_nothing_to_do_is_done_at_once(self, ledger: Ledger) -> None:
        assert list(await ledger.journal.act([], T0)) == []


class HeldAccountContract:
    @pytest.fixture(autouse=True)
    async def numbers(self, ledger: Ledger) -> None:
        await connect(ledger)
        await connect(ledger, OTHER_NUMBER, OTHER_ORG)

    async def test_a_hold_stops_the_accounts_messages_and_a_release_frees_them(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        theirs = await submit(ledger, org_id=OTHER_ORG, sender=OTHER_NUMBER)
        await apply_update(ledger, BANNED)
        assert [each.id for each in await claim(ledger)] == [theirs.id]
        await apply_update(ledger, FREED, at=later(seconds(1)))
        assert [each.id for each in await claim(ledger, now=later(seconds(1)))] == [message.id]

    async def test_an_older_word_that_is_heard_late_undoes_nothing(self, ledger: Ledger) -> None:
        await apply_update(ledger, FREED, at=later(seconds(5)))
        assert await apply_update(ledger, BANNED, at=later(seconds(4)))
        assert await held(ledger) == []
        await apply_update(ledger, BANNED, at=later(seconds(6)))
        await apply_update(ledger, FREED, at=later(seconds(5)))
        assert [gate.code for gate in await held(ledger)] == ["ACCOUNT_DISABLED"]

    async def test_of_the_same_moment_the_one_that_comes_later_counts(self, ledger: Ledger) -> None:
        updates = [await journaled(ledger, BANNED), await journaled(ledger, FREED)]
        await ledger.journal.act(updates, T0)
        await ledger.journal.act(updates, T0)
        assert await held(ledger) == []

    async def test_within_one_post_the_time_decides_not_the_place(self, ledger: Ledger) -> None:
        late = await journaled(ledger, FREED, at=later(seconds(2)))
        early = await journaled(ledger, BANNED, at=later(seconds(1)))
        await ledger.journal.act([late, early], later(seconds(3)))
        assert await held(ledger) == []

    async def test_a_hold_with_an_end_ends_by_itself(self, ledger: Ledger) -> None:
        await submit(ledger)
        await apply_update(ledger, restricted(later(hours(1))))
        assert await claim(ledger, now=later(minutes(59))) == []
        assert len(await claim(ledger, now=later(minutes(61)))) == 1

    async def test_a_newer_end_replaces_the_older_also_when_it_is_earlier(self, ledger: Ledger) -> None:
        await apply_update(ledger, restricted(later(hours(9))))
        await apply_update(ledger, restricted(later(hours(2))), at=later(seconds(1)))
        (gate,) = await held(ledger, later(seconds(1)))
        assert (gate.until, gate.since) == (later(hours(2)), T0)

    async def test_an_account_is_held_as_long_as_one_cause_holds_it(self, ledger: Ledger) -> None:
        await apply_update(ledger, restricted(later(hours(9))))
        await apply_update(ledger, BANNED, at=later(seconds(1)))
        (gate,) = await held(ledger, later(seconds(1)))
        assert (gate.code, gate.until) == ("ACCOUNT_DISABLED", None)
        await apply_update(ledger, FREED, at=later(seconds(2)))
        (gate,) = await held(ledger, later(seconds(2)))
        assert (gate.code, gate.until) == ("ACCOUNT_RESTRICTION", later(hours(9)))

    async def test_two_causes_told_at_once_by_two_processes_make_one_gate(self, ledgers: Ledgers) -> None:
        for n in range(5):
            at = later(seconds(n))
            updates = [await journaled(ledgers[0], act, at=at) for act in (BANNED, restricted(later(hours(9))))]
            await asyncio.gather(
                *(each.journal.act([update], at) for each, update in zip(ledgers, updates, strict=True))
            )
            assert [gate.until for gate in await held(ledgers[0], at)] == [None]
            await apply_update(ledgers[0], FREED, at=at)

    async def test_a_release_opens_what_a_send_had_met_and_an_over_restriction_does_not(self, ledger: Ledger) -> None:
        await ledger.gates.close(a_hold(f"account:{WABA}", "131031"), T0)
        await apply_update(ledger, restricted(later(hours(-1))))
        assert [gate.code for gate in await held(ledger)] == ["131031"]
        await apply_update(ledger, FREED)
        assert await held(ledger) == []

    async def test_a_hold_that_a_send_has_met_is_not_shortened(self, ledger: Ledger) -> None:
        await ledger.gates.close(a_hold(f"account:{WABA}", "131031"), T0)
        await apply_update(ledger, restricted(later(hours(1))))
        assert [gate.until for gate in await held(ledger)] == [None]


class LimitsContract:
    @pytest.fixture(autouse=True)
    async def numbers(self, ledger: Ledger) -> None:
        await connect(ledger, pace=80)
        await connect(ledger, SECOND_NUMBER, pace=80, waba_id="another")
        await connect(ledger, OTHER_NUMBER, OTHER_ORG, pace=80)

    async def limits(self, ledger: Ledger) -> dict[NumberId, tuple[int, int | None]]:
        return {number.id: (number.pace, number.tier) for number in await ledger.accounts.numbers()}

    async def test_a_tier_is_set_for_the_orgs_numbers_of_the_account(self, ledger: Ledger) -> None:
        await apply_update(ledger, SetTier(250))
        assert await self.limits(ledger) == {NUMBER: (80, 250), SECOND_NUMBER: (80, None), OTHER_NUMBER: (80, None)}

    async def test_a_tier_counts_from_then_on_and_no_limit_takes_it_away(self, ledger: Ledger) -> None:
        await apply_update(ledger, SetTier(1))
        for _ in range(3):
            await submit(ledger, template="hello", recipient=f"+4915{fresh('1')[2:]:0>8}")
        assert len(await claim(ledger)) == 1
        await apply_update(ledger, SetTier(None), at=later(seconds(1)))
        assert len(await claim(ledger, now=later(seconds(1)))) == 2

    async def test_an_older_tier_or_pace_changes_nothing(self, ledger: Ledger) -> None:
        await apply_update(ledger, SetTier(2000), SetPace(NUMBER, 1000), at=later(seconds(2)))
        await apply_update(ledger, SetTier(250), SetPace(NUMBER, 80), at=later(seconds(1)))
        assert (await self.limits(ledger))[NUMBER] == (1000, 2000)

    async def test_no_org_sets_anothers_pace(self, ledger: Ledger) -> None:
        await apply_update(ledger, SetPace(OTHER_NUMBER, 1000))
        assert (await self.limits(ledger))[OTHER_NUMBER] == (80, None)


class TemplateStatusContract:
    @pytest.fixture(autouse=True)
    async def listed(self, ledger: Ledger) -> None:
        await connect(ledger)
        await ledger.templates.replace(ORG, WABA, [a_template("order")], T0)

    async def stale(self, ledger: Ledger, now: Instant) -> bool:
        return (ORG, WABA) in await ledger.templates.stale(Instant(now - hours(1)))

    async def test_a_changed_template_makes_the_list_be_fetched_again(self, ledger: Ledger) -> None:
        assert not await self.stale(ledger, later(seconds(9)))
        await apply_update(ledger, RefreshTemplates(), at=later(seconds(9)))
        assert await self.stale(ledger, later(seconds(9)))
        assert len(await ledger.templates.of(ORG, WABA)) == 1
        assert await ledger.templates.replace(ORG, WABA, [], later(seconds(9)))

    async def test_a_list_that_was_asked_for_later_knows_already(self, ledger: Ledger) -> None:
        await apply_update(ledger, RefreshTemplates(), at=later(seconds(-9)), now=later(seconds(5)))
        assert not await self.stale(ledger, later(seconds(5)))

    async def test_a_status_is_changed_and_an_approved_template_is_freed(self, ledger: Ledger) -> None:
        name = f"template:{WABA}/order"
        await apply_update(
            ledger, SetTemplateStatus(TemplateStatusChange("order", "en", "PAUSED")), at=later(seconds(1))
        )
        assert [each.status for each in await ledger.templates.of(ORG, WABA)] == ["PAUSED"]
        assert [(gate.name, gate.code, gate.until) for gate in await held(ledger)] == [(name, "132015", None)]
        await ledger.gates.close(a_hold(name), later(seconds(1)))
        await apply_update(
            ledger, SetTemplateStatus(TemplateStatusChange("order", "en", "APPROVED")), at=later(seconds(2))
        )
        assert [each.status for each in await ledger.templates.of(ORG, WABA)] == ["APPROVED"]
        assert await held(ledger) == []

    async def test_a_pause_that_is_older_than_what_is_known_holds_nothing(self, ledger: Ledger) -> None:
        for status, at in (("APPROVED", later(seconds(2))), ("PAUSED", later(seconds(1)))):
            change = SetTemplateStatus(TemplateStatusChange("order", "en", status))
            await apply_update(ledger, change, at=at, now=later(seconds(9)))
        assert await held(ledger) == []


class PreferencesContract:
    @pytest.fixture(autouse=True)
    async def numbers(self, ledger: Ledger) -> None:
        await connect(ledger)

    async def word(self, ledger: Ledger, address: str = CUSTOMER, dossier: DossierId | None = None) -> list[str | None]:
        found = await ledger.consents.word(ORG, dossier, address, Channel.WHATSAPP_MARKETING)
        return [found.address, found.dossier]

    async def trail(self, ledger: Ledger, entity: Entity) -> list[tuple[str, str]]:
        found = await ledger.audit.find(ORG, AuditQuery(entity_type=entity), 100)
        recorded = [each.entry for each in found if each.entry.action == AuditAction.CONSENT_CHANGED]
        assert {entry.actor for entry in recorded} <= {PROVIDER}
        return [(entry.entity_id, entry.details) for entry in recorded]

    async def test_a_wish_is_kept_for_every_address_and_audited_once(self, ledger: Ledger) -> None:
        await apply_update(ledger, stopped(T0, CUSTOMER, "US.1"))
        assert await self.word(ledger) == await self.word(ledger, "US.1") == ["REVOKED", None]
        assert (await ledger.consents.word(ORG, None, CUSTOMER, Channel.WHATSAPP)).address is None
        assert (await ledger.consents.word(OTHER_ORG, None, CUSTOMER, Channel.WHATSAPP_MARKETING)).address is None
        change = "WHATSAPP_MARKETING: REVOKED (before: not recorded)"
        assert await self.trail(ledger, Entity.ADDRESS) == [(CUSTOMER, change)]

    async def test_a_wish_is_the_dossiers_too(self, ledger: Ledger) -> None:
        opened = await ledger.dossiers.ensure(ORG, DossierFields(phone=CUSTOMER), "key", T0)
        dossier = opened.dossier.id  # type: ignore[union-attr]  # it was opened
        await apply_update(ledger, stopped(T0))
        await apply_update(ledger, stopped(later(seconds(1)), status=ConsentStatus.GRANTED))
        assert await self.word(ledger, dossier=dossier) == ["GRANTED", "GRANTED"]
        assert await self.trail(ledger, Entity.ADDRESS) == []
        assert await self.trail(ledger, Entity.DOSSIER) == [
            (str(dossier), "WHATSAPP_MARKETING: GRANTED (before: REVOKED)"),
            (str(dossier), "WHATSAPP_MARKETING: REVOKED (before: not recorded)"),
        ]

    async def test_an_older_wish_changes_nothing_and_is_not_audited(self, ledger: Ledger) -> None:
        await apply_update(ledger, stopped(later(seconds(5))))
        await apply_update(ledger, stopped(later(seconds(4)), status=ConsentStatus.GRANTED))
        assert await self.word(ledger) == ["REVOKED", None]
        assert len(await self.trail(ledger, Entity.ADDRESS)) == 1

    async def test_of_many_wishes_at_once_each_customers_latest_counts(self, ledger: Ledger) -> None:
        wishes = [stopped(later(seconds(9 - n)), f"+49151{n % 3:08d}") for n in range(9)]
        wishes.append(stopped(later(seconds(99)), "+4915100000000", status=ConsentStatus.GRANTED))
        await apply_update(ledger, *wishes)
        found = [(await self.word(ledger, f"+49151{n:08d}"))[0] for n in range(4)]
        assert found == ["GRANTED", "REVOKED", "REVOKED", None]
        assert len(await self.trail(ledger, Entity.ADDRESS)) == 3


class JournalRetentionContract:
    async def test_old_items_are_forgotten_in_bites_but_never_a_pending_one(self, ledger: Ledger) -> None:
        for n, state in enumerate(["done", "kept", "failed", "pending", "done"]):
            item = an_item(key=f"{state}-{n}", state=state)
            await ledger.journal.apply_webhook(WebhookBatch([], [item]), later(days(n)))
        assert await ledger.journal.forget(later(days(4)), 2) == 2
        assert await ledger.journal.forget(later(days(4)), 2) == 1
        assert await ledger.journal.forget(later(days(4)), 2) == 0
        assert [each.item.key for each in await ledger.journal.items(ORG, None, 10)] == ["done-4", "pending-3"]
