"""Finds the contact, dossier and conversation of each inbound message, or creates them.

In the usual case every contact is known and one statement suffices. If two processes create the same contact at once,
the unique key rejects one of them, and its batch runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias

from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.engine.plan import Plan, Row, Together, each, some, together
from waypost.adapters.sql.kernel import chat_locks
from waypost.adapters.sql.kernel.consent_inheritance import inherit_consents, subjects_of
from waypost.adapters.sql.kernel.conversation_work import ConversationWork, OpenedConversation
from waypost.adapters.sql.kernel.dossier_phone import set_dossier_phones
from waypost.adapters.sql.rows import conversation_rows
from waypost.model.audit import SYSTEM, AuditAction, AuditEntry, Entity
from waypost.model.conversation import ConversationId, InboundMessage
from waypost.model.ids import OrgId
from waypost.model.message import Draft
from waypost.model.time import Instant
from waypost.rules.conversations.phone_forms import address_of, shared_alias, spellings

ContactAddressKey: TypeAlias = tuple[OrgId, str]
_MET_ELSEWHERE = "another process created this contact first"


@dataclass(slots=True)
class _InboundContact:
    """The sender of inbound messages, under any of their addresses."""

    org_id: OrgId
    met_as: str
    names: tuple[str | None, str | None] = (None, None)
    """The current name and username."""
    stored_names: tuple[str | None, str | None] | None = None
    """None: the contact is new."""
    id: int | None = None
    dossier: int | None = None
    phone: str | None = None
    """As received; identifies the dossier."""
    new_addresses: set[str] = field(default_factory=set)
    conversations: dict[str, ConversationId | None] = field(default_factory=dict)
    """Number -> the conversation, if there is one."""
    reply_to: str = ""
    decides: bool = False
    """They wrote STOP or START."""

    def call(self, inbound: InboundMessage) -> None:
        self.names = (inbound.name or self.names[0], inbound.username or self.names[1])

    @property
    def file(self) -> tuple[OrgId, str | None, str | None]:
        """The dossier's key: the phone, or without one the id that Meta gives the customer for this business."""
        return self.org_id, self.phone, None if self.phone else self.met_as


class ContactBatch:
    """All senders of one batch."""

    def __init__(self, found: Sequence[Row]) -> None:
        self._stored = {(row[0], row[1]): row for row in found}
        self._there = {(row[3], row[2]): ConversationId(row[6]) for row in found if row[6] is not None}
        self._by_address: dict[ContactAddressKey, _InboundContact] = {}
        self._by_contact: dict[int, _InboundContact] = {}
        self.joinable: set[tuple[OrgId, int, int]] = set()
        """Contacts that turn out to be the same person."""

    def add(self, inbound: InboundMessage) -> None:
        contact = self._contact_of(inbound)
        contact.reply_to = inbound.reply_to
        contact.decides |= inbound.consent is not None
        contact.phone = inbound.reply_to if inbound.reply_to.startswith("+") else contact.phone
        if contact.id is None:
            contact.call(inbound)
        for address in inbound.addresses:
            self._by_address[inbound.org_id, address] = contact
            if (inbound.org_id, address) not in self._stored:
                contact.new_addresses.add(address)
        there = self._there.get((contact.id, inbound.number)) if contact.id is not None else None
        contact.conversations.setdefault(inbound.number, there)

    def _contact_of(self, inbound: InboundMessage) -> _InboundContact:
        rows = [self._stored[inbound.org_id, a] for a in inbound.addresses if (inbound.org_id, a) in self._stored]
        first, *others = sorted({row[3] for row in rows}) or [None]
        self.joinable.update((inbound.org_id, first, other) for other in others)
        stored = [self._known(row) for row in rows if row[3] == first]
        met = [self._by_address.get((inbound.org_id, address)) for address in inbound.addresses]
        contacts = list({id(contact): contact for contact in [*stored, *met] if contact}.values())
        if not contacts:
            return _InboundContact(inbound.org_id, inbound.addresses[0])
        for other in contacts[1:]:
            self._merge(contacts[0], other)
        return contacts[0]

    def _known(self, row: Row) -> _InboundContact:
        fresh = _InboundContact(row[0], row[1], (row[4], row[5]), (row[4], row[5]), id=row[3], dossier=row[7])
        return self._by_contact.setdefault(row[3], fresh)

    def _merge(self, contact: _InboundContact, other: _InboundContact) -> None:
        """Merge two senders of the same batch: this message carries the addresses of both."""
        contact.new_addresses |= other.new_addresses
        for number in other.conversations:
            there = self._there.get((contact.id, number)) if contact.id is not None else None
            contact.conversations.setdefault(number, there)
        contact.names = (contact.names[0] or other.names[0], contact.names[1] or other.names[1])
        contact.phone = contact.phone or other.phone
        contact.decides |= other.decides
        self._by_address.update({a: contact for a, known in self._by_address.items() if known is other})

    def of(self, inbound: InboundMessage) -> _InboundContact:
        return self._by_address[inbound.org_id, inbound.addresses[0]]

    def called_anew(self, messages: Iterable[InboundMessage]) -> set[int | None]:
        """Contacts that `update_contact_names` may rename: one of these messages carries a different name."""
        anew = {p.id for p in self.contacts() if p.stored_names not in (None, p.names)}
        for inbound in messages:
            contact = self.of(inbound)
            name, username = contact.stored_names or (inbound.name, inbound.username)
            if inbound.name not in (None, "", name) or inbound.username not in (None, "", username):
                anew.add(contact.id)
        return anew

    def contacts(self) -> list[_InboundContact]:
        return list({id(contact): contact for contact in self._by_address.values()}.values())


def find_contacts(messages: Sequence[InboundMessage]) -> Plan[ContactBatch]:
    """Look up the senders without locks."""
    wanted = sorted(
        {(inbound.org_id, address, inbound.number) for inbound in messages for address in inbound.addresses}
    )
    batch = ContactBatch((yield from each("talk_find", wanted)))
    for inbound in messages:
        batch.add(inbound)
    return batch


def find_or_create_contacts(
    messages: Sequence[InboundMessage], batch: ContactBatch, conversations: ConversationWork, now: Instant
) -> Plan[list[AuditEntry]]:
    """Fill `conversations.where` for every message; returns the audit entries. Locks only rows that change."""
    contacts = batch.contacts()
    opened = yield from _store_contacts([contact for contact in contacts if contact.id is None], now)
    opened += yield from set_dossier_phones(_new_phones(contacts, conversations.joined), now)
    yield from _hold(contacts, batch.called_anew(messages))
    yield from _store_addresses(contacts, now)
    conversations.begun += yield from _store_conversations(contacts, now)
    subjects = yield from subjects_of(p.id for p in contacts if p.decides and p.id is not None)
    for inbound in messages:
        there = batch.of(inbound).conversations[inbound.number]
        if there is None:
            raise TransactionConflict(_MET_ELSEWHERE)
        conversations.where[inbound.number, inbound.wamid] = there
        conversations.dossiers[there] = batch.of(inbound).dossier
        conversations.subjects[there] = subjects.get(batch.of(inbound).id or 0, [])
    return opened


def _store_contacts(new: list[_InboundContact], now: Instant) -> Plan[list[AuditEntry]]:
    if not new:
        return []
    fresh = yield from _store_dossiers(new, now)
    contacts = sorted({(p.org_id, p.met_as): p for p in new}.items(), key=itemgetter(0))
    rows = [(org, met_as, *p.names, p.dossier, now) for (org, met_as), p in contacts]
    stored = {(org, met_as): contact_id for org, met_as, contact_id in (yield from each("contact_insert", rows))}
    for contact in new:
        if (contact.org_id, contact.met_as) not in stored:
            raise TransactionConflict(_MET_ELSEWHERE)
        contact.id = stored[contact.org_id, contact.met_as]
    return [_opened(org, dossier, now) for org, dossier in fresh]


def _store_dossiers(new: list[_InboundContact], now: Instant) -> Plan[list[Row]]:
    """Find the dossiers of new contacts, or open them; a phone number with two forms may have one under the other."""
    files = {contact.file: contact.names[0] for contact in new}
    wanted = sorted(files, key=lambda key: (key[0], key[1] or "", key[2] or ""))
    forms = sorted(
        (org, form, None) for org, phone, _ in wanted if shared_alias(phone) for form in spellings(phone or "")
    )
    known = _by_phone((yield from each("dossier_of", forms)))
    opened = [
        (org, phone, shared_alias(phone), reference, files[org, phone, reference], now)
        for org, phone, reference in wanted
        if (org, shared_alias(phone)) not in known
    ]
    fresh = yield from each("dossier_open", opened)
    found = yield from each("dossier_of", [*wanted, *forms])
    by_phone, by_reference = _by_phone(found), {(org, reference): dossier for org, _, reference, dossier in found}
    for p in new:
        org, phone, reference = p.file
        by_alias = by_phone.get((org, shared_alias(phone)))
        p.dossier = by_phone.get((org, phone), by_alias) if phone else by_reference.get((org, reference))
    return fresh


def _by_phone(found: Sequence[Row]) -> dict[tuple[OrgId, str | None], int]:
    """Dossiers by the alias of a phone with two forms, and by phone, which comes first."""
    aliases = {(org, alias): dossier for org, phone, _, dossier in found if (alias := shared_alias(phone))}
    return aliases | {(org, phone): dossier for org, phone, _, dossier in found if phone}


def _new_phones(contacts: Iterable[_InboundContact], joined: set[int]) -> Iterator[tuple[OrgId, int, str]]:
    """Known contacts whose phone is new, with the dossier that may lack it."""
    for p in contacts:
        news = p.stored_names is not None and (p.id in joined or any(a.startswith("phone:") for a in p.new_addresses))
        if news and p.phone is not None and p.dossier is not None:
            yield p.org_id, p.dossier, p.phone


def _opened(org: OrgId, dossier: int, now: Instant) -> AuditEntry:
    return AuditEntry(
        org_id=org,
        at=now,
        entity_type=Entity.DOSSIER,
        entity_id=str(dossier),
        action=AuditAction.CREATED,
        actor=SYSTEM,
        details="opened when the customer wrote for the first time",
    )


def _hold(contacts: Iterable[_InboundContact], called_anew: set[int | None]) -> Plan[None]:
    """Lock contacts that gain an address or conversation, so that a concurrent merge cannot orphan it.

    Also contacts that write STOP, so that a new address inherits it, and contacts that may be renamed: every
    transaction locks contacts before conversations.
    """
    known = (p for p in contacts if p.stored_names is not None and p.id is not None)
    changed = (
        p for p in known if p.new_addresses or p.decides or None in p.conversations.values() or p.id in called_anew
    )
    wanted = sorted((p.id, p.org_id) for p in changed)
    if len((yield from each("contact_lock", wanted))) < len(wanted):
        raise TransactionConflict("two contacts were merged in the meantime")


def _store_addresses(contacts: Iterable[_InboundContact], now: Instant) -> Plan[None]:
    rows = sorted((p.org_id, address, p.id) for p in contacts for address in p.new_addresses)
    stored = yield from each("contact_address_insert", rows)
    if len(stored) < len(rows):
        raise TransactionConflict(_MET_ELSEWHERE)
    gained = [
        p for p in contacts if len(p.new_addresses) > (p.stored_names is None)
    ]  # a new contact's first address inherits nothing
    yield from inherit_consents([(p.org_id, p.id) for p in gained if p.id is not None], now)


def _store_conversations(contacts: Iterable[_InboundContact], now: Instant) -> Plan[list[OpenedConversation]]:
    missing = {(p.id, number): p for p in contacts for number, there in p.conversations.items() if there is None}
    rows = [
        (p.org_id, number, contact_id, p.reply_to, now) for (contact_id, number), p in sorted(missing.items(), key=_key)
    ]
    stored = yield from each("conversation_insert", rows)
    yield from each("lane_insert", sorted((row[0], row[3]) for row in stored))
    begun = []
    for conversation, contact_id, number, _ in stored:
        contact = missing[contact_id, number]
        contact.conversations[number] = ConversationId(conversation)
        begun.append(OpenedConversation(ConversationId(conversation), contact.org_id, number, _written_to(contact)))
    return begun


def _written_to(contact: _InboundContact) -> tuple[str, ...]:
    """Every recipient address that earlier messages to this contact may have used."""
    ids = (address.removeprefix("user:") for address in contact.new_addresses if address.startswith("user:"))
    return tuple(dict.fromkeys((*spellings(contact.reply_to), *sorted(ids))))


def _key(item: tuple[tuple[int | None, str], _InboundContact]) -> tuple[int, str]:
    return item[0][0] or 0, item[0][1]


def find_existing_conversations(drafts: Sequence[Draft], conversations: ConversationWork) -> Plan[None]:
    """Fill `conversations.shown_in` for drafts whose recipient has a conversation with the sending number."""
    names = {(draft.org_id, address_of(draft.recipient), draft.sender) for draft in drafts}
    found = yield from each("talk_find", sorted(names))
    known = {(row[0], row[1], row[2]): ConversationId(row[6]) for row in found if row[6] is not None}
    for draft in drafts:
        there = known.get((draft.org_id, address_of(draft.recipient), draft.sender))
        if there is not None:
            conversations.shown_in[draft.org_id, draft.idempotency_key] = there


def lock_conversations(wanted: Iterable[ConversationId], conversations: ConversationWork) -> Plan[None]:
    """Lock the conversations with their turn states, in the order of their ids."""
    found = yield from each("talk_lock", [(conversation,) for conversation in sorted(set(wanted))])
    for row in found:
        conversation = conversation_rows.conversation(row)
        conversations.by_id[conversation.id] = conversation
        conversations.turn_states[conversation.id] = conversation_rows.turn_state(row[conversation_rows.CONVERSATION :])


def find_duplicates(messages: Sequence[InboundMessage], conversations: ConversationWork) -> Plan[None]:
    """Find messages that are already stored. Their conversations are locked, so none can be stored meanwhile."""
    wanted = sorted({(inbound.number, inbound.wamid) for inbound in messages})
    conversations.known.update((number, wamid) for number, wamid in (yield from each("arrival_find", wanted)))


def update_contact_names(
    messages: Sequence[InboundMessage], batch: ContactBatch, conversations: ConversationWork, now: Instant
) -> Plan[None]:
    """Update the contacts' names; a duplicate message does not count."""
    for inbound in messages:
        contact = batch.of(inbound)
        if contact.stored_names is not None and (inbound.number, inbound.wamid) not in conversations.known:
            contact.call(inbound)
    rows = sorted((p.id, *p.names, now) for p in batch.contacts() if p.stored_names not in (None, p.names))
    yield from each("contact_rename", rows)


def write(conversations: ConversationWork) -> Plan[None]:
    """Write everything but the feeds, which come last because their heads are the most contended rows."""
    yield from write_arrivals(conversations)
    yield from together(*writes(conversations))


def write_arrivals(conversations: ConversationWork) -> Plan[None]:
    stored = yield from each("arrival_insert", sorted(conversations.inbound_rows, key=_by_key))
    if len(stored) < len(conversations.inbound_rows):
        raise TransactionConflict("the same message was received for two contacts")
    if len((yield from each("post_insert", sorted(conversations.posts, key=_by_key)))) < len(conversations.posts):
        raise TransactionConflict("the same post was received for two conversations")
    yield from each("turn_forget", conversations.reopened)
    yield from chat_locks.write_apart(conversations)


def writes(conversations: ConversationWork) -> list[Plan[list[Row]]]:
    moved = [conversations.by_id[id_] for id_ in sorted(conversations.moved & conversations.by_id.keys())]
    return [
        each("entry_insert", [conversation_rows.entry_row(entry) for entry in conversations.entries]),
        each("media_insert", conversations.media),
        each("conversation_put", [(c.id, c.position, c.last_id_at, c.address) for c in moved]),
        each(
            "lane_put",
            [conversation_rows.turn_state_row(conversations.turn_states[id_]) for id_ in sorted(conversations.turned)],
        ),
        each("turn_insert", [conversation_rows.turn_row(turn) for turn in conversations.turns]),
        *chat_locks.writes(conversations),
    ]


def _by_key(row: Row) -> tuple[str, str]:
    return row[0], row[1]


def write_feeds(conversations: ConversationWork, *others: Plan[list[Row]]) -> Plan[dict[str, int]]:
    """Write the feeds together with `others`; returns the new heads of the feeds."""
    if not conversations.items:
        yield from together(*others)
        return {}
    heads = yield Together(some(*others, *feed_writes(conversations)), asked="feed_draw")
    return dict(heads)  # type: ignore[arg-type]  # a name and a number each


def feed_writes(conversations: ConversationWork) -> list[Plan[list[Row]]]:
    """Draw the numbers of all items of a feed at once; each item's number counts back from the last."""
    drawn = [(feed, len(conversations.items[feed])) for feed in sorted(conversations.items)]
    items = [(feed, count - n, *item) for feed, count in drawn for n, item in enumerate(conversations.items[feed], 1)]
    return [each("feed_draw", drawn), each("feed_item_append", items)]
