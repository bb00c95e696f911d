"""The contract of dossiers, consents and the audit trail."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from waypost.model.audit import SYSTEM, AuditAction, AuditEntry, Entity
from waypost.model.dossier import ConsentStatus, Dossier, DossierFields, DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import seconds
from waypost.model.webhook import WebhookBatch
from waypost.ports.accounts.consents import ConsentOnRecord
from waypost.ports.accounts.dossiers import (
    DossierAmended,
    DossierChange,
    DossierConflict,
    DossierCreated,
    DossierExists,
    DossierSplit,
    NoDossier,
)
from waypost.ports.ledger import Ledger
from waypost.ports.operations.audit import AuditQuery
from waypost.ports.sending.messages import Query
from waypost.ports.sending.outbox import BlockedByConsent, Created, DifferentContent, SameContent
from waypost.rules.conversations import phone_forms
from waypost_testing.contracts.examples import (
    CUSTOMER,
    NUMBER,
    ORG,
    OTHER_CUSTOMER,
    OTHER_ORG,
    T0,
    Ledgers,
    a_draft,
    a_number,
    an_inbound,
    an_item,
    an_org,
    claim_one,
    fresh,
    give_up,
    later,
    settle,
    submit,
)

TWO_FORMS = pytest.mark.parametrize(
    ("one", "other"),
    [
        ("+525512345678", "+5215512345678"),
        ("+5215512345678", "+525512345678"),
        ("+541123456789", "+5491123456789"),
        ("+5491123456789", "+541123456789"),
        ("+551187654321", "+5511987654321"),
        ("+5511987654321", "+551187654321"),
    ],
)
ACTOR = "key_1"
UNKNOWN = DossierId(987_654_321)
DOSSIER = AuditQuery(entity_type=Entity.DOSSIER)


async def a_dossier(ledger: Ledger, org: OrgId = ORG, **known: Any) -> Dossier:
    answer = await ledger.dossiers.ensure(org, DossierFields(**(known or {"phone": CUSTOMER})), ACTOR, T0)
    assert isinstance(answer, DossierCreated), answer
    return answer.dossier


async def trail(ledger: Ledger, query: AuditQuery = DOSSIER, org: OrgId = ORG) -> list[tuple[str, str, str]]:
    """Entity, action and actor of each entry, newest first."""
    found = await ledger.audit.find(org, query, 100)
    return [(each.entry.entity_id, each.entry.action, each.entry.actor) for each in found]


class DossiersContract:
    async def test_a_new_one_is_as_it_was_given(self, ledger: Ledger) -> None:
        person = DossierFields(phone=CUSTOMER, email="ada@example.com", name="Ada", external_ref="crm-7")
        opened = await ledger.dossiers.ensure(ORG, person, ACTOR, T0)
        assert isinstance(opened, DossierCreated)
        dossier = opened.dossier
        assert (dossier.person, dossier.status, dossier.created_at, dossier.updated_at) == (person, "NEW", T0, T0)
        assert await ledger.dossiers.get(ORG, dossier.id) == dossier
        assert await trail(ledger) == [(str(dossier.id), "CREATED", ACTOR)]

    async def test_the_same_phone_or_reference_finds_the_first_unchanged(self, ledger: Ledger) -> None:
        first = await a_dossier(ledger, phone=CUSTOMER, external_ref="crm-7")
        for person in (
            DossierFields(phone=CUSTOMER, name="other"),
            DossierFields(external_ref="crm-7"),
            DossierFields(phone=OTHER_CUSTOMER, external_ref="crm-7"),
        ):
            assert await ledger.dossiers.ensure(ORG, person, ACTOR, later(seconds(1))) == DossierExists(first)
        assert len(await trail(ledger)) == 1

    async def test_without_phone_and_reference_each_is_a_new_one(self, ledger: Ledger) -> None:
        one = await a_dossier(ledger, email="ada@example.com")
        two = await a_dossier(ledger, email="ada@example.com")
        assert one.id != two.id

    async def test_one_persons_phone_with_another_ones_reference_is_split(self, ledger: Ledger) -> None:
        one = await a_dossier(ledger, phone=CUSTOMER)
        two = await a_dossier(ledger, external_ref="crm-7")
        both = DossierFields(phone=CUSTOMER, external_ref="crm-7")
        assert await ledger.dossiers.ensure(ORG, both, ACTOR, T0) == DossierSplit(one.id, two.id)

    @pytest.mark.parametrize("shared", ["phone", "external_ref"])
    async def test_of_many_at_once_one_opens_it(self, shared: str, ledgers: Ledgers) -> None:
        known = {shared: fresh("+49")}
        answers = await asyncio.gather(
            *(ledgers[n % 2].dossiers.ensure(ORG, DossierFields(**known, name=str(n)), ACTOR, T0) for n in range(12))
        )
        assert Counter(type(answer) for answer in answers) == {DossierCreated: 1, DossierExists: 11}
        assert len({answer.dossier.id for answer in answers if not isinstance(answer, DossierSplit)}) == 1
        assert len(await trail(ledgers[0])) == 1

    @TWO_FORMS
    async def test_both_forms_of_a_number_are_one_person(self, one: str, other: str, ledger: Ledger) -> None:
        first = await a_dossier(ledger, phone=one)
        assert await ledger.dossiers.ensure(ORG, DossierFields(phone=other), ACTOR, T0) == DossierExists(first)
        assert await ledger.dossiers.find(ORG, other, None, 10) == [first]
        second = await a_dossier(ledger, external_ref="crm-7")
        change = DossierChange(phone=other)
        assert await ledger.dossiers.change(ORG, second.id, change, ACTOR, T0) == DossierConflict("phone", first.id)
        respelled = DossierAmended(replace(first, person=DossierFields(phone=other)))
        assert await ledger.dossiers.change(ORG, first.id, change, ACTOR, T0) == respelled
        assert await ledger.dossiers.find(ORG, one, None, 10) == [respelled.dossier]

    @TWO_FORMS
    async def test_of_many_at_once_with_either_form_one_opens_it(self, one: str, other: str, ledgers: Ledgers) -> None:
        people = [DossierFields(phone=(one, other)[n // 2 % 2]) for n in range(12)]
        answers = await asyncio.gather(
            *(ledgers[n % 2].dossiers.ensure(ORG, person, ACTOR, T0) for n, person in enumerate(people))
        )
        assert Counter(type(answer) for answer in answers) == {DossierCreated: 1, DossierExists: 11}
        assert len({answer.dossier.id for answer in answers if not isinstance(answer, DossierSplit)}) == 1

    @TWO_FORMS
    async def test_who_writes_from_the_other_form_has_the_same_dossier(
        self, one: str, other: str, ledgers: Ledgers
    ) -> None:
        wrote = an_inbound(
            number=NUMBER, addresses=(f"phone:{phone_forms.alias(other)}",), reply_to=other, text="hello"
        )
        await asyncio.gather(
            ledgers[0].dossiers.ensure(ORG, DossierFields(phone=one), ACTOR, T0),
            ledgers[1].journal.apply_webhook(WebhookBatch([], [], [wrote]), T0),
        )
        (dossier,) = await ledgers[0].dossiers.find(ORG, one, None, 10)
        (conversation,) = await ledgers[0].conversations.at(ORG, wrote.addresses[0])
        assert conversation.contact_id is not None
        contact = await ledgers[0].conversations.contact(ORG, conversation.contact_id)
        assert contact is not None
        assert contact.dossier_id == dossier.id

    async def test_a_dossier_may_gain_a_phone_and_lose_it(self, ledger: Ledger) -> None:
        one, two = await a_dossier(ledger, external_ref="crm-1"), await a_dossier(ledger, external_ref="crm-2")
        for dossier in (one, two):
            for phone in ("+525512345678", None):
                answer = await ledger.dossiers.change(ORG, dossier.id, DossierChange(phone=phone), ACTOR, T0)
                assert isinstance(answer, DossierAmended), answer

    async def test_another_org_has_dossiers_of_its_own(self, ledger: Ledger) -> None:
        ours = await a_dossier(ledger)
        theirs = await a_dossier(ledger, OTHER_ORG)
        assert ours.id != theirs.id
        assert await ledger.dossiers.get(ORG, theirs.id) is None
        assert await ledger.dossiers.change(ORG, theirs.id, DossierChange(name="x"), ACTOR, T0) == NoDossier()
        assert await ledger.dossiers.find(ORG, CUSTOMER, None, 10) == [ours]

    async def test_it_is_found_by_what_is_given(self, ledger: Ledger) -> None:
        one = await a_dossier(ledger, phone=CUSTOMER, external_ref="crm-1")
        two = await a_dossier(ledger, phone=OTHER_CUSTOMER)
        find = ledger.dossiers.find
        assert await find(ORG, None, None, 10) == [two, one]
        assert await find(ORG, None, None, 1) == [two]
        assert await find(ORG, CUSTOMER, None, 10) == await find(ORG, None, "crm-1", 10) == [one]
        assert await find(ORG, CUSTOMER, "crm-1", 10) == [one]
        assert await find(ORG, OTHER_CUSTOMER, "crm-1", 10) == []

    async def test_what_is_named_changes_and_what_is_not_stays(self, ledger: Ledger) -> None:
        before = await a_dossier(ledger, phone=CUSTOMER, name="Ada", external_ref="crm-7")
        change = DossierChange(name=None, email="ada@example.com", status="WON")
        answer = await ledger.dossiers.change(ORG, before.id, change, "user_1", later(seconds(1)))
        person = DossierFields(phone=CUSTOMER, email="ada@example.com", external_ref="crm-7")
        expected = replace(before, person=person, status="WON", updated_at=later(seconds(1)))
        assert answer == DossierAmended(expected)
        assert await ledger.dossiers.get(ORG, before.id) == expected
        (newest, _) = await ledger.audit.find(ORG, DOSSIER, 10)
        assert (newest.entry.action, newest.entry.actor) == ("UPDATED", "user_1")
        assert newest.entry.details == "changed: email, name, status"

    async def test_a_change_to_what_it_is_already_leaves_no_trace(self, ledger: Ledger) -> None:
        before = await a_dossier(ledger, name="Ada")
        same = DossierChange(name="Ada", status="NEW")
        assert await ledger.dossiers.change(ORG, before.id, same, ACTOR, later(seconds(1))) == DossierAmended(before)
        assert len(await trail(ledger)) == 1

    async def test_nobody_takes_over_anothers_phone_or_reference(self, ledger: Ledger) -> None:
        one = await a_dossier(ledger, phone=CUSTOMER, external_ref="crm-1")
        two = await a_dossier(ledger, phone=OTHER_CUSTOMER)
        by_phone = await ledger.dossiers.change(ORG, two.id, DossierChange(phone=CUSTOMER), ACTOR, T0)
        by_ref = await ledger.dossiers.change(ORG, two.id, DossierChange(external_ref="crm-1"), ACTOR, T0)
        assert (by_phone, by_ref) == (DossierConflict("phone", one.id), DossierConflict("external_ref", one.id))
        assert await ledger.dossiers.get(ORG, two.id) == two

    async def test_of_two_who_want_the_same_phone_at_once_one_gets_it(self, ledgers: Ledgers) -> None:
        both = [await a_dossier(ledgers[0], external_ref=name) for name in ("one", "two")]
        wish = DossierChange(phone=CUSTOMER)
        answers = await asyncio.gather(
            *(ledger.dossiers.change(ORG, each.id, wish, ACTOR, T0) for ledger, each in zip(ledgers, both, strict=True))
        )
        assert {type(answer) for answer in answers} == {DossierAmended, DossierConflict}

    async def test_a_customer_who_writes_for_the_first_time_gets_a_dossier(self, ledgers: Ledgers) -> None:
        ledger = ledgers[0]
        await ledger.accounts.create_org(an_org(), None)
        await ledger.accounts.connect(a_number())
        known = await a_dossier(ledger, phone=OTHER_CUSTOMER, name="Ada")
        wrote = [
            an_inbound(customer, T0, NUMBER, name="Bob")
            for customer in (CUSTOMER, CUSTOMER, OTHER_CUSTOMER, "DE.without-a-phone")
        ]
        posts = [WebhookBatch([], [an_item()], inbound=wrote) for _ in range(6)]
        await asyncio.gather(*(ledgers[n % 2].journal.apply_webhook(post, T0) for n, post in enumerate(posts)))
        met, hidden, other = sorted(await ledger.dossiers.find(ORG, None, None, 10), key=_by_phone)
        assert other == known
        assert (met.person, met.status, met.created_at) == (DossierFields(phone=CUSTOMER, name="Bob"), "NEW", T0)
        assert hidden.person == DossierFields(external_ref="user:DE.without-a-phone", name="Bob")
        opened = {(str(dossier.id), "CREATED", SYSTEM) for dossier in (met, hidden)}
        assert set(await trail(ledger)) == {*opened, (str(known.id), "CREATED", ACTOR)}
        assert len(await trail(ledger)) == 3


def _by_phone(dossier: Dossier) -> tuple[bool, str]:
    return dossier.person.name == "Ada", "z" if dossier.person.phone is None else ""


class ConsentsContract:
    async def test_the_latest_word_counts_for_the_dossier_and_its_address(self, ledger: Ledger) -> None:
        dossier = await a_dossier(ledger, phone=CUSTOMER, email="ada@example.com")
        put, word = ledger.consents.put, ledger.consents.word
        whatsapp, email = Channel.WHATSAPP, Channel.EMAIL
        assert await word(ORG, dossier.id, CUSTOMER, whatsapp) == ConsentOnRecord(
            dossier_known=True, dossier=None, address=None
        )
        for n, status in enumerate((ConsentStatus.GRANTED, ConsentStatus.PENDING, ConsentStatus.REVOKED)):
            stored = await put(ORG, dossier.id, whatsapp, status, ACTOR, later(seconds(n)))
            assert stored is not None
            assert (stored.status, stored.at) == (status, later(seconds(n)))
            consent = ConsentOnRecord(dossier_known=True, dossier=status, address=status)
            assert await word(ORG, dossier.id, CUSTOMER, whatsapp) == consent
            assert await ledger.consents.of(ORG, dossier.id) == [stored]
        unsaid = ConsentOnRecord(dossier_known=True, dossier=None, address=None)
        assert await word(ORG, dossier.id, "ada@example.com", email) == unsaid
        await put(ORG, dossier.id, email, ConsentStatus.GRANTED, ACTOR, T0)
        assert (await word(ORG, None, "ada@example.com", email)).address is ConsentStatus.GRANTED
        assert (await word(ORG, None, CUSTOMER, email)).address is None
        assert [each.channel for each in await ledger.consents.of(ORG, dossier.id)] == [email, whatsapp]

    async def test_every_change_is_audited_with_what_was_before(self, ledger: Ledger) -> None:
        dossier = await a_dossier(ledger)
        for status in (ConsentStatus.GRANTED, ConsentStatus.REVOKED):
            await ledger.consents.put(ORG, dossier.id, Channel.WHATSAPP, status, "user_1", T0)
        second, first, _ = await ledger.audit.find(ORG, DOSSIER, 10)
        assert {(e.entry.action, e.entry.actor) for e in (first, second)} == {("CONSENT_CHANGED", "user_1")}
        assert first.entry.details == "WHATSAPP: GRANTED (before: not recorded)"
        assert second.entry.details == "WHATSAPP: REVOKED (before: GRANTED)"

    async def test_a_dossier_that_the_org_does_not_have_says_nothing(self, ledger: Ledger) -> None:
        theirs = await a_dossier(ledger, OTHER_ORG)
        for dossier in (theirs.id, UNKNOWN):
            put = ledger.consents.put(ORG, dossier, Channel.WHATSAPP, ConsentStatus.REVOKED, ACTOR, T0)
            assert await put is None
            unknown = ConsentOnRecord(dossier_known=False, dossier=None, address=None)
            assert await ledger.consents.word(ORG, dossier, CUSTOMER, Channel.WHATSAPP) == unknown
            assert await ledger.consents.of(ORG, dossier) == []
        assert await trail(ledger) == []

    async def test_one_orgs_word_does_not_count_for_another(self, ledger: Ledger) -> None:
        theirs = await a_dossier(ledger, OTHER_ORG)
        await ledger.consents.put(OTHER_ORG, theirs.id, Channel.WHATSAPP, ConsentStatus.REVOKED, ACTOR, T0)
        assert (await ledger.consents.word(ORG, theirs.id, CUSTOMER, Channel.WHATSAPP)).address is None

    async def test_a_new_number_does_not_undo_a_no(self, ledger: Ledger) -> None:
        dossier = await a_dossier(ledger, phone=CUSTOMER)
        await ledger.consents.put(ORG, dossier.id, Channel.WHATSAPP, ConsentStatus.REVOKED, ACTOR, T0)
        await ledger.dossiers.change(ORG, dossier.id, DossierChange(phone=OTHER_CUSTOMER), ACTOR, T0)
        for phone in (CUSTOMER, OTHER_CUSTOMER):
            consent = await ledger.consents.word(ORG, None, phone, Channel.WHATSAPP)
            assert consent.address is ConsentStatus.REVOKED

    async def test_nothing_is_stored_for_an_address_that_said_no(self, ledger: Ledger) -> None:
        dossier = await a_dossier(ledger)
        before = await submit(ledger, key="before", content="x")
        await ledger.consents.put(ORG, dossier.id, Channel.WHATSAPP, ConsentStatus.REVOKED, ACTOR, T0)
        drafts = [
            a_draft(key="after", created_by=ACTOR),
            a_draft(key="before", content="x"),
            a_draft(key="before", content="y"),
            a_draft(key="shared", content="x", ordered=True, created_by=ACTOR),
            a_draft(key="shared", content="y", recipient=OTHER_CUSTOMER),
            a_draft(org_id=OTHER_ORG),
            a_draft(channel=Channel.EMAIL),
        ]
        answers = await asyncio.gather(*(ledger.outbox.submit(draft, T0) for draft in drafts))
        assert [type(answer) for answer in answers[:3]] == [BlockedByConsent, SameContent, DifferentContent]
        assert [type(answer) for answer in answers[4:]] == [Created] * 3
        assert isinstance(answers[3], BlockedByConsent | DifferentContent), "as whoever came first with the key"
        assert len(await ledger.messages.find(ORG, Query(), 10)) == 3
        assert answers[1] == SameContent(before.id)
        blocked = await trail(ledger, AuditQuery(entity_type=Entity.ADDRESS, entity_id=CUSTOMER))
        assert blocked[0] == (CUSTOMER, "BLOCKED_BY_POLICY", ACTOR)
        assert len(blocked) == sum(isinstance(answer, BlockedByConsent) for answer in answers)

    async def test_a_claim_sees_the_latest_word(self, ledger: Ledger) -> None:
        dossier = await a_dossier(ledger)
        await ledger.consents.put(ORG, dossier.id, Channel.WHATSAPP, ConsentStatus.GRANTED, ACTOR, T0)
        await submit(ledger, dossier_id=dossier.id)
        await ledger.consents.put(ORG, dossier.id, Channel.WHATSAPP, ConsentStatus.REVOKED, ACTOR, T0)
        claimed = await claim_one(ledger)
        assert (claimed.dossier_id, claimed.consent, claimed.address_consent) == (dossier.id, "REVOKED", "REVOKED")


def an_entry(entity_id: str = "1", entity_type: str = Entity.ORG, **fields: Any) -> AuditEntry:
    standard: dict[str, Any] = {
        "org_id": ORG,
        "at": T0,
        "action": AuditAction.QUOTA_CHANGED,
        "actor": ACTOR,
        "details": "1 → 2\nquotes ' \" and 日本",
    }
    return AuditEntry(entity_type=entity_type, entity_id=entity_id, **(standard | fields))


class AuditContract:
    async def test_entries_come_back_whole_and_newest_first(self, ledger: Ledger) -> None:
        entries = [an_entry(str(n), at=later(seconds(n))) for n in range(5)]
        await ledger.audit.append(entries[:3])
        await ledger.audit.append(entries[3:])
        await ledger.audit.append([])
        found = await ledger.audit.find(ORG, AuditQuery(), 10)
        assert [each.entry for each in found] == entries[::-1]
        assert len({each.id for each in found}) == 5

    async def test_they_are_found_by_type_by_entity_and_page_by_page(self, ledger: Ledger) -> None:
        await ledger.audit.append([an_entry(str(n % 2), kind) for n in range(6) for kind in ("ORG", "DOSSIER")])
        one = AuditQuery(entity_type="ORG", entity_id="1")
        assert {each.entry.entity_id for each in await ledger.audit.find(ORG, one, 10)} == {"1"}
        assert len(await ledger.audit.find(ORG, one, 10)) == 3
        assert len(await ledger.audit.find(ORG, AuditQuery(entity_type="ORG"), 10)) == 6
        whole = await ledger.audit.find(ORG, AuditQuery(), 100)
        page = await ledger.audit.find(ORG, AuditQuery(), 5)
        rest = await ledger.audit.find(ORG, AuditQuery(before=int(page[-1].id)), 100)
        assert [*page, *rest] == whole
        assert len(whole) == 12

    async def test_one_org_does_not_see_anothers(self, ledger: Ledger) -> None:
        await ledger.audit.append([an_entry(org_id=OTHER_ORG)])
        for query in (AuditQuery(), AuditQuery(entity_type="ORG"), AuditQuery(entity_type="ORG", entity_id="1")):
            assert await ledger.audit.find(ORG, query, 10) == []

    async def test_who_cancelled_and_who_retried_is_recorded_with_the_change(self, ledger: Ledger) -> None:
        message = await submit(ledger)
        query = AuditQuery(entity_type=Entity.OUTBOUND_MESSAGE, entity_id=str(message.id))
        await ledger.outbox.retry(ORG, message.id, T0, "key_1")  # not allowed
        await ledger.outbox.cancel(OTHER_ORG, message.id, T0, "key_2")  # not theirs
        assert await trail(ledger, query) == []
        await ledger.outbox.cancel(ORG, message.id, T0, "key_1")
        await ledger.outbox.retry(ORG, message.id, later(seconds(1)), "user_1")
        await settle(ledger, await claim_one(ledger, now=later(seconds(1))), give_up("131026"), later(seconds(2)))
        await ledger.outbox.retry(ORG, message.id, later(seconds(3)))
        found = await ledger.audit.find(ORG, query, 10)
        assert [(e.entry.action, e.entry.actor, e.entry.details) for e in found] == [
            ("RETRIED", SYSTEM, "it was FAILED with 131026"),
            ("RETRIED", "user_1", "it was CANCELLED"),
            ("CANCELLED", "key_1", "it was QUEUED"),
        ]
