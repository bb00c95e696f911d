"""The contract of mailboxes: each inside its org, with its own gate and pace."""

from __future__ import annotations

from typing import Any

import pytest

from waypost.model.email import MailAccount, Security
from waypost.model.gate import GateClosing, GateKind
from waypost.model.ids import MailboxId, NumberId
from waypost.model.message import Channel, ClaimedMessage
from waypost.model.time import minutes, seconds
from waypost.ports.accounts.mailboxes import MailboxChange
from waypost.ports.ledger import Ledger
from waypost.rules.limits import gates
from waypost.rules.sending.delivery import StandBack
from waypost_testing.contracts.examples import (
    NUMBER,
    ORG,
    OTHER_ORG,
    T0,
    an_org,
    claim,
    claim_one,
    fresh,
    later,
    settle,
    submit,
)

ADDRESS = "ann@example.com"


def a_mailbox(**fields: Any) -> MailAccount:
    standard: dict[str, Any] = {
        "org_id": ORG,
        "address": "shop@example.com",
        "name": "The shop ☃",
        "domain": "example.com",
        "host": "mail.example.com",
        "port": 587,
        "security": Security.STARTTLS,
        "username": "shop",
        "sealed_password": b"\x01password",
        "enabled": True,
        "created_at": T0,
        "updated_at": T0,
    }
    return MailAccount(id=MailboxId(fresh("mail")), **(standard | fields))


async def submit_email(ledger: Ledger, mailbox: MailAccount) -> None:
    await submit(
        ledger, sender=NumberId(mailbox.id), channel=Channel.EMAIL, recipient=ADDRESS, subject="Hello", org_id=ORG
    )


def refused(claimed: ClaimedMessage) -> StandBack:
    closing = GateClosing(
        org_id=ORG, name=gates.of_number(claimed.sender), kind=GateKind.HOLD, code="5.7.8", reason="wrong password"
    )
    return StandBack(closing, "wrong password", None)


class MailboxesContract:
    @pytest.fixture(autouse=True)
    async def orgs(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(ORG), None)
        await ledger.accounts.create_org(an_org(OTHER_ORG, later(seconds(1))), None)

    async def test_a_mailbox_is_read_as_it_was_stored_oldest_first(self, ledger: Ledger) -> None:
        newer = a_mailbox(address="b@example.com", created_at=later(seconds(1)))
        bare = a_mailbox(username=None, sealed_password=None, security=Security.NONE, port=25)
        for mailbox in (newer, bare):
            assert await ledger.mailboxes.connect(mailbox)
        assert await ledger.mailboxes.of(ORG) == await ledger.mailboxes.of() == [bare, newer]
        assert await ledger.mailboxes.of(OTHER_ORG) == []

    async def test_an_address_is_connected_once_per_org(self, ledger: Ledger) -> None:
        first = a_mailbox()
        assert await ledger.mailboxes.connect(first)
        assert not await ledger.mailboxes.connect(a_mailbox())
        assert await ledger.mailboxes.connect(a_mailbox(org_id=OTHER_ORG))
        assert await ledger.mailboxes.of(ORG) == [first]

    async def test_a_change_names_what_changes_and_stays_within_the_org(self, ledger: Ledger) -> None:
        mailbox = a_mailbox()
        await ledger.mailboxes.connect(mailbox)
        change = MailboxChange(host="other.example.com", port=465, security=Security.TLS, sealed_password=b"new")
        assert await ledger.mailboxes.change(OTHER_ORG, mailbox.id, change, T0) is None
        changed = await ledger.mailboxes.change(ORG, mailbox.id, change, later(seconds(2)))
        assert changed is not None
        assert [changed] == await ledger.mailboxes.of(ORG)
        assert (changed.host, changed.port, changed.security) == ("other.example.com", 465, Security.TLS)
        assert (changed.name, changed.sealed_password) == (mailbox.name, b"new")
        assert changed.updated_at == later(seconds(2))

    async def test_a_mailbox_leaves_once_and_only_its_own_org(self, ledger: Ledger) -> None:
        mailbox = a_mailbox()
        await ledger.mailboxes.connect(mailbox)
        assert not await ledger.mailboxes.disconnect(OTHER_ORG, mailbox.id)
        assert await ledger.mailboxes.disconnect(ORG, mailbox.id)
        assert not await ledger.mailboxes.disconnect(ORG, mailbox.id)

    async def test_its_letters_go_at_its_pace(self, ledger: Ledger) -> None:
        mailbox = a_mailbox(pace=20)
        await ledger.mailboxes.connect(mailbox)
        for _ in range(5):
            await submit_email(ledger, mailbox)
        starts = [claimed.start_at for claimed in await claim(ledger)]
        assert starts == [T0, later(seconds(0.05)), later(seconds(0.1))]

    async def test_many_letters_to_one_address_are_not_put_off(self, ledger: Ledger) -> None:
        mailbox = a_mailbox(pace=1000)
        await ledger.mailboxes.connect(mailbox)
        for _ in range(60):
            await submit_email(ledger, mailbox)
        claimed = await claim(ledger)
        assert len(claimed) == 60
        assert {each.put_off_until for each in claimed} == {None}

    async def test_what_a_wrong_password_stopped_goes_on_with_a_new_one(self, ledger: Ledger) -> None:
        mailbox = a_mailbox()
        await ledger.mailboxes.connect(mailbox)
        await submit_email(ledger, mailbox)
        claimed = await claim_one(ledger)
        await settle(ledger, claimed, refused(claimed))
        assert await claim(ledger, now=later(minutes(60))) == []
        await ledger.mailboxes.change(ORG, mailbox.id, MailboxChange(name="Other"), T0)
        assert await claim(ledger, now=later(minutes(60))) == []
        await ledger.mailboxes.change(ORG, mailbox.id, MailboxChange(sealed_password=b"right"), T0)
        again = await claim_one(ledger, now=later(minutes(60)))
        assert (again.id, again.tries) == (claimed.id, 1)

    async def test_a_disabled_mailbox_holds_its_letters_whatever_its_password(self, ledger: Ledger) -> None:
        mailbox = a_mailbox(enabled=False)
        await ledger.mailboxes.connect(mailbox)
        await submit_email(ledger, mailbox)
        await ledger.mailboxes.change(ORG, mailbox.id, MailboxChange(sealed_password=b"right"), T0)
        assert await claim(ledger) == []
        await ledger.mailboxes.change(ORG, mailbox.id, MailboxChange(enabled=True), T0)
        assert len(await claim(ledger)) == 1

    async def test_letters_of_a_mailbox_that_left_are_claimed_to_be_ended(self, ledger: Ledger) -> None:
        mailbox = a_mailbox(enabled=False)
        await ledger.mailboxes.connect(mailbox)
        await submit_email(ledger, mailbox)
        await ledger.mailboxes.disconnect(ORG, mailbox.id)
        assert len(await claim(ledger)) == 1

    @pytest.mark.parametrize(("kind", "stops"), [(GateKind.THROTTLE, 0), (GateKind.BREAKER, 0), (GateKind.HOLD, 1)])
    async def test_trouble_of_the_orgs_whatsapp_does_not_stop_its_letters(
        self, kind: GateKind, stops: int, ledger: Ledger
    ) -> None:
        mailbox = a_mailbox()
        await ledger.mailboxes.connect(mailbox)
        closing = GateClosing(org_id=ORG, name=gates.of_org(ORG), kind=kind, code="4", reason="too many calls")
        await ledger.gates.close(closing, T0)
        await submit_email(ledger, mailbox)
        assert len(await claim(ledger)) == 1 - stops

    async def test_a_held_mailbox_does_not_stop_a_number(self, ledger: Ledger) -> None:
        mailbox = a_mailbox()
        await ledger.mailboxes.connect(mailbox)
        await submit_email(ledger, mailbox)
        claimed = await claim_one(ledger)
        await settle(ledger, claimed, refused(claimed))
        await submit(ledger, sender=NUMBER)
        assert (await claim_one(ledger)).sender == NUMBER
