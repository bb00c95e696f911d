"""The contract of audited changes: a change and its audit entry are stored together, or neither is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from waypost.model.audit import AuditAction
from waypost.model.gate import GateClosing, GateKind
from waypost.model.policy import Policy, QuietHours
from waypost.model.time import seconds
from waypost.ports.accounts.accounts import NumberChange
from waypost.ports.accounts.mailboxes import MailboxChange
from waypost.ports.ledger import Ledger
from waypost.ports.operations.audit import AuditQuery
from waypost.ports.platform.failure import Rejected
from waypost.rules.limits.gates import of_number
from waypost_testing.contracts.accounts.accounts import a_key, a_user
from waypost_testing.contracts.accounts.mailboxes import a_mailbox
from waypost_testing.contracts.accounts.quick_replies import a_reply
from waypost_testing.contracts.examples import NUMBER, ORG, OTHER_ORG, T0, a_number, an_org, later
from waypost_testing.contracts.ledger import UNWRITABLE

AuditedChange = Callable[[Ledger, str], Awaitable[object]]
KEY, USER, MAILBOX = a_key(), a_user(), a_mailbox()
SOON = later(seconds(1))
QUIET = QuietHours(start="21:00", end="08:00", timezone="Europe/Berlin")


async def _number(ledger: Ledger, actor: str) -> object:
    return await ledger.accounts.connect(a_number(), actor)


async def _token(ledger: Ledger, actor: str) -> object:
    change = NumberChange(sealed_token=b"new", enabled=False, no_failover=True)
    return await ledger.accounts.change_number(ORG, NUMBER, change, SOON, actor)


async def _no_number(ledger: Ledger, actor: str) -> object:
    return await ledger.accounts.disconnect(ORG, NUMBER, actor)


async def _key(ledger: Ledger, actor: str) -> None:
    await ledger.accounts.add_key(KEY, b"digest of a key", actor)


async def _no_key(ledger: Ledger, actor: str) -> object:
    return await ledger.accounts.revoke_key(ORG, KEY.id, T0, actor)


async def _user(ledger: Ledger, actor: str) -> None:
    await ledger.accounts.add_user(USER, b"digest of a token", actor)


async def _user_token(ledger: Ledger, actor: str) -> object:
    return await ledger.accounts.renew_token(ORG, USER.id, b"another digest", actor)


async def _no_user(ledger: Ledger, actor: str) -> object:
    return await ledger.accounts.remove_user(ORG, USER.id, actor)


async def _mailbox(ledger: Ledger, actor: str) -> object:
    return await ledger.mailboxes.connect(MAILBOX, actor)


async def _password(ledger: Ledger, actor: str) -> object:
    change = MailboxChange(host="other.example.com", sealed_password=b"new")
    return await ledger.mailboxes.change(ORG, MAILBOX.id, change, SOON, actor)


async def _no_mailbox(ledger: Ledger, actor: str) -> object:
    return await ledger.mailboxes.disconnect(ORG, MAILBOX.id, actor)


async def _policy(ledger: Ledger, actor: str) -> object:
    policy = Policy(unsure="park", quiet_hours=QUIET)
    return await ledger.policies.put(ORG, policy, instead_of=await ledger.policies.get(ORG), actor=actor)


async def _no_policy(ledger: Ledger, actor: str) -> object:
    return await ledger.policies.put(ORG, Policy(unsure="park"), actor=actor)


async def _quick_reply(ledger: Ledger, actor: str) -> object:
    return await ledger.quick_replies.put(a_reply(updated_by=actor), 9)


async def _other_words(ledger: Ledger, actor: str) -> object:
    return await ledger.quick_replies.put(a_reply(text="Hi", updated_by=actor), 9)


async def _other_name(ledger: Ledger, actor: str) -> object:
    return await ledger.quick_replies.put(a_reply("hey", "Hi", updated_by=actor), 9, "hello")


async def _no_quick_reply(ledger: Ledger, actor: str) -> object:
    return await ledger.quick_replies.remove(ORG, "hey", T0, actor)


async def _quota(ledger: Ledger, actor: str) -> object:
    return await ledger.quotas.set_limit(ORG, 7, actor)


async def _release(ledger: Ledger, actor: str) -> object:
    closing = GateClosing(org_id=ORG, name=of_number(NUMBER), kind=GateKind.HOLD, code="190", reason="token expired")
    gate = await ledger.gates.close(closing, T0)
    return await ledger.gates.release(ORG, gate.id, actor)


CHANGES: list[tuple[AuditedChange, AuditAction, str, str]] = [
    (_number, AuditAction.NUMBER_CONNECTED, NUMBER, "number connected"),
    (_token, AuditAction.NUMBER_CHANGED, NUMBER, "changed: token, enabled, failover"),
    (_no_number, AuditAction.NUMBER_DISCONNECTED, NUMBER, "number disconnected"),
    (_key, AuditAction.KEY_CREATED, KEY.id, "role=sender"),
    (_no_key, AuditAction.KEY_REVOKED, KEY.id, "ends "),
    (_user, AuditAction.USER_CREATED, USER.id, "role=agent"),
    (_user_token, AuditAction.USER_TOKEN_RENEWED, USER.id, "the old token ended"),
    (_no_user, AuditAction.USER_REMOVED, USER.id, "with their token"),
    (_mailbox, AuditAction.MAILBOX_CONNECTED, MAILBOX.id, "mailbox connected"),
    (_password, AuditAction.MAILBOX_CHANGED, MAILBOX.id, "changed: host, password"),
    (_no_mailbox, AuditAction.MAILBOX_DISCONNECTED, MAILBOX.id, "mailbox disconnected"),
    (_policy, AuditAction.POLICY_CHANGED, ORG, "changed: quietHours, unsure"),
    (_no_policy, AuditAction.POLICY_CHANGED, ORG, "changed: quietHours"),
    (_quick_reply, AuditAction.QUICK_REPLY_ADDED, "hello", "quick reply added"),
    (_other_words, AuditAction.QUICK_REPLY_CHANGED, "hello", "changed: text"),
    (_other_name, AuditAction.QUICK_REPLY_RENAMED, "hey", "was hello"),
    (_no_quick_reply, AuditAction.QUICK_REPLY_REMOVED, "hey", "quick reply removed"),
    (_quota, AuditAction.QUOTA_CHANGED, ORG, "7 in 24 hours"),
    (_release, AuditAction.GATE_RELEASED, ORG, f"hold of {of_number(NUMBER)}"),
]
"""In an order in which each finds what it changes."""


class AuditWithChangeContract:
    async def test_every_change_is_recorded_with_its_actor_and_names_but_no_values(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(), None)
        for change, action, entity, details in CHANGES:
            await change(ledger, "user_1")
            (newest,) = await ledger.audit.find(ORG, AuditQuery(), 1)
            assert (newest.entry.action, newest.entry.actor, newest.entry.entity_id) == (action, "user_1", entity)
            assert newest.entry.details.startswith(details)
        assert len(await ledger.audit.find(ORG, AuditQuery(), 100)) == len(CHANGES)

    @pytest.mark.parametrize("count", range(len(CHANGES)), ids=[action for _, action, _, _ in CHANGES])
    async def test_a_change_whose_entry_cannot_be_written_is_not_made(self, count: int, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(), None)
        for change, *_ in CHANGES[:count]:
            await change(ledger, "user_1")
        before = await _seen(ledger)
        with pytest.raises(Rejected):
            await CHANGES[count][0](ledger, UNWRITABLE)
        assert await _seen(ledger) == before

    async def test_what_found_nothing_to_change_leaves_no_entry(self, ledger: Ledger) -> None:
        await ledger.accounts.create_org(an_org(), None)
        await ledger.accounts.create_org(an_org(OTHER_ORG), None)
        missing = (
            _token,
            _no_number,
            _no_key,
            _user_token,
            _no_user,
            _password,
            _no_mailbox,
            _other_name,
            _no_quick_reply,
        )
        for change in missing:
            await change(ledger, "user_1")
        await ledger.policies.put(ORG, Policy())
        await ledger.policies.put(ORG, Policy(unsure="park"), instead_of=Policy(unsure="requeue"))
        assert await ledger.audit.find(ORG, AuditQuery(), 10) == []


async def _seen(ledger: Ledger) -> list[object]:
    accounts = ledger.accounts
    people = [await accounts.keys(ORG, T0), await accounts.users(ORG), await accounts.numbers(ORG)]
    callers = [await accounts.caller(b"digest of a token", T0)]
    rest = [await ledger.mailboxes.of(ORG), await ledger.policies.get(ORG), await ledger.quotas.get(ORG)]
    return [
        *people,
        *callers,
        *rest,
        await ledger.quick_replies.of(ORG),
        await ledger.audit.find(ORG, AuditQuery(), 100),
    ]
