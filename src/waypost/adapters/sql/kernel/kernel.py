"""Turns a batch of intents into one transaction: resolve, lock in one order, decide, write set-wise.

Every transaction locks in the same order, table by table and key by key: new dossier, contact, conversation with its
turn state, chat, dispatch group, queue, message key, wamid, delivery, permit, gate, recipient state, feed. Resolving
keys takes no other locks, and deciding reads nothing from the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.engine.plan import Each, Plan, Row, each, read_all
from waypost.adapters.sql.kernel import backfill, chat_locks, find_or_create_contacts, merge_contacts, stop_words
from waypost.adapters.sql.kernel.conversation_work import ConversationWork, team_of
from waypost.adapters.sql.kernel.flush import write
from waypost.adapters.sql.kernel.intent import Intent, Keys, all_keys
from waypost.adapters.sql.kernel.transaction_state import (
    LockedQueue,
    TransactionState,
    WamidBinding,
    addressee,
    outlet_name,
)
from waypost.adapters.sql.kernel.turn_intents import CommitTurn
from waypost.adapters.sql.rows import conversation_rows, gate_rows, message_rows
from waypost.adapters.sql.rows.message_rows import FACTS, MessageFacts
from waypost.model.chat import NewPost
from waypost.model.conversation import ConversationId
from waypost.model.dossier import ConsentStatus
from waypost.model.ids import Fence, MessageId, NumberId, QueueId, Wamid
from waypost.model.message import Draft
from waypost.model.webhook import StatusUpdate
from waypost.rules.conversations import entry_ids
from waypost.rules.conversations.chat_status import chat_status
from waypost.rules.conversations.entry_ids import EntryId
from waypost.rules.conversations.turn_state import holds
from waypost.rules.limits.send_pace import quota_of

WamidKey: TypeAlias = tuple[NumberId, Wamid]
ToBind: TypeAlias = dict[WamidKey, tuple[MessageId | None, Fence | None]]


class Decided(NamedTuple):
    answers: list[Any]
    heads: dict[str, int]
    """The new heads of the feeds that gained items."""


def decide_together(intents: Sequence[Intent]) -> Plan[Decided]:
    keys = all_keys(intents)
    work = TransactionState(now=max(intent.now for intent in intents))
    yield from _lock_conversations(keys, work)
    to_bind = yield from _resolve(keys, work)
    yield from _look_up(keys, work)
    yield from _lock_queues(keys, work)
    yield from _store_messages(keys, work)
    yield from _bind_wamids(to_bind, keys, work)
    yield from _lock_deliveries(work)
    yield from _recognise_failures(keys, work)
    yield from _find_suspects(keys, work)
    yield from _lock_permits(keys, work)
    yield from _lock_gates(keys, work)
    yield from _lock_recipients(keys, work)
    answers = _decide(intents, work)
    yield from _add_status_items(work)
    return Decided(answers, (yield from write(work)))


def _lock_conversations(keys: Keys, work: TransactionState) -> Plan[None]:
    """Conversations come first: whether a turn is still held decides which drafts are stored."""
    if not (keys.inbound or keys.conversations or keys.chat_keys or keys.own_drafts):
        return
    conversations = work.conversations
    contacts = yield from find_or_create_contacts.find_contacts(keys.inbound)
    while contacts.joinable:  # before the new entries, which come after those of both contacts
        yield from merge_contacts.merge_contact_pairs(contacts.joinable, conversations, work.now)
        contacts = yield from find_or_create_contacts.find_contacts(keys.inbound)
    work.audited += yield from find_or_create_contacts.find_or_create_contacts(
        keys.inbound, contacts, conversations, work.now
    )
    yield from find_or_create_contacts.find_existing_conversations(keys.own_drafts, conversations)
    yield from find_or_create_contacts.lock_conversations(
        {*keys.conversations, *conversations.where.values(), *conversations.shown_in.values()}, conversations
    )
    if not conversations.by_id.keys() >= set(conversations.where.values()):
        raise TransactionConflict("two contacts were merged in the meantime")
    yield from _enter_chats(keys, work)
    yield from find_or_create_contacts.find_duplicates(keys.inbound, conversations)
    yield from stop_words.record_consent_words(keys.inbound, conversations, work.now)
    yield from find_or_create_contacts.update_contact_names(keys.inbound, contacts, conversations, work.now)
    yield from _remember(keys, work)
    _promise(keys, work)
    for row in (yield from each("replies_waiting", [(where,) for where in sorted(keys.silenced)])):
        keys.messages.add(MessageId(row[1]))
        conversations.unsent.setdefault(row[0], set()).add(MessageId(row[1]))


def _remember(keys: Keys, work: TransactionState) -> Plan[None]:
    """Add messages that were sent before a new conversation existed, ahead of the customer's first reply.

    Also find the scheduled messages whose entries are added now that they are sent.
    """
    sent_before = yield from backfill.find_sent_before(work.conversations)
    keys.messages.update(message.message_id for message in sent_before)
    backfill.add_sent_before(sent_before, work.conversations, work.now)
    unseen = yield from each("message_unseen", [(message_id,) for message_id in sorted(keys.late)])
    work.conversations.unseen.update({MessageId(message_id): created_by for message_id, created_by in unseen})


def _enter_chats(keys: Keys, work: TransactionState) -> Plan[None]:
    """Lock the chats; add the drafts of new posts, and the messages of deleted entries."""
    conversations = work.conversations
    yield from chat_locks.enter(keys.chat_keys, conversations)
    for found in (yield from chat_locks.find_entries(keys.chat_keys.entries, conversations)):
        entry = conversations.found[found[0], found[1]] = conversation_rows.entry(found)
        if entry.message_id is not None and (entry.conversation_id, entry.position) in keys.chat_keys.taken_back:
            keys.messages.add(entry.message_id)
    keys.drafts += [
        (post.draft, work.now) for post in keys.chat_keys.posts if _goes_out(post, conversations) and post.draft
    ]


def _promise(keys: Keys, work: TransactionState) -> None:
    """Add the drafts that depend on a condition: confirmations of a STOP, replies of a turn that is still held."""
    conversations = work.conversations
    for inbound in keys.inbound:
        if (
            inbound.consent
            and inbound.consent.confirmation
            and (inbound.number, inbound.wamid) in conversations.consent_times
        ):
            where = conversations.where[inbound.number, inbound.wamid]
            keys.drafts.append((replace(inbound.consent.confirmation, conversation_id=where), work.now))
    for claim, drafts, now in keys.promised:
        where = claim.turn_state.conversation_id
        if (
            where in conversations.turn_states
            and where not in conversations.held
            and holds(conversations.turn_states[where], claim.turn_state.fence)
        ):
            conversations.held.add(where)  # a second commit in the same batch finds the turn ended
            keys.drafts += [(draft, now) for draft in drafts]


def _goes_out(post: NewPost, conversations: ConversationWork) -> bool:
    """A duplicate post is not sent again."""
    known = (post.sender, post.client_message_id) in conversations.posted
    return post.conversation_id in conversations.by_id and not known


def _add_status_items(work: TransactionState) -> Plan[None]:
    """Add feed items for changed statuses of messages that a conversation shows."""
    shown = {
        after.message_id: status
        for after in work.changed()
        if work.facts[after.message_id].shown_in is not None
        and (status := chat_status(after.status, after.read_at is not None)) != _status_before(after.message_id, work)
    }
    for message, where, position, id_at in (yield from each("entry_of_message", [(id_,) for id_ in sorted(shown)])):
        after = work.deliveries[message]
        body = {
            "message_id": entry_ids.made(EntryId(conversation_id=where, position=position, id_at=id_at)),
            "status": shown[message],
            "provider_message_id": after.provider_id,
            "error_code": after.error_code,
            "error": after.error_message,
        }
        feed = team_of(after.org_id)
        work.conversations.add_item_to_feed(
            feed, where, "status", work.now, position, msgspec.json.encode(body).decode()
        )


def _status_before(message: MessageId, work: TransactionState) -> str | None:
    before = work.originals.get(message)
    return chat_status(before.status, before.read_at is not None) if before else None


def _decide(intents: Sequence[Intent], work: TransactionState) -> list[Any]:
    """Decide turn commits first: their replies are stored by now, so no other intent may end the turn before them."""
    order = sorted(range(len(intents)), key=lambda n: not isinstance(intents[n], CommitTurn))
    answers = {n: intents[n].decide(work) for n in order}
    return [answers[n] for n in range(len(intents))]


def _resolve(keys: Keys, work: TransactionState) -> Plan[ToBind]:
    """Find the messages without locks; returns the wamids that must be bound or waited for."""
    echoed = {update.echo.message_id for update in keys.updates if update.echo}
    provider_ids = yield from _load_facts(keys.messages | echoed, work)
    to_bind: ToBind = {}
    nameless = []
    for update in keys.updates:
        known = _echoed(update, work)
        if known is None or update.echo is None:
            nameless.append(update)
            continue
        work.bindings[update.number, update.wamid] = WamidBinding(known.message_id, update.echo.fence)
        if provider_ids.get(known.message_id) != update.wamid:
            to_bind[update.number, update.wamid] = (known.message_id, update.echo.fence)
    yield from _resolve_by_wamid(nameless, to_bind, work)
    for number, wamid, message_id, fence in keys.acceptances:
        to_bind[number, wamid] = (message_id, fence)
    return to_bind


def _load_facts(wanted: set[MessageId], work: TransactionState) -> Plan[dict[MessageId, Wamid | None]]:
    found = yield from each("facts", [(message_id,) for message_id in sorted(wanted)])
    for row in found:
        work.facts[row[0]] = MessageFacts(*row[:FACTS])
    return {row[0]: row[FACTS] for row in found}


def _echoed(update: StatusUpdate, work: TransactionState) -> MessageFacts | None:
    """An echo counts only for the number (and so the org) whose secret signed it."""
    known = work.facts.get(update.echo.message_id) if update.echo else None
    return known if known and known.org_id == update.org_id and known.sender == update.number else None


def _resolve_by_wamid(updates: Sequence[StatusUpdate], to_bind: ToBind, work: TransactionState) -> Plan[None]:
    """A wamid's row is authoritative: an echo that contradicts it is ignored."""
    for update in updates:
        to_bind.setdefault((update.number, update.wamid), (None, None))
    for number, wamid, message_id, fence in (yield from each("wamid_find", sorted(to_bind))):
        if message_id is not None:
            work.bindings[number, wamid] = WamidBinding(message_id, fence)
            del to_bind[number, wamid]
    bound = {b.message_id for b in work.bindings.values() if b.message_id is not None}
    yield from _load_facts(bound - work.facts.keys(), work)


def _look_up(keys: Keys, work: TransactionState) -> Plan[None]:
    """Find the drafts' dispatch groups, queues and opt-outs: one round trip if all exist."""
    groups = sorted({outlet_name(draft) for draft, _ in keys.drafts})
    queues = sorted({(draft.org_id, draft.sender, draft.recipient) for draft, _ in keys.drafts if draft.ordered})
    asked = sorted({addressee(draft) for draft, _ in keys.drafts if not draft.exempt})
    found, lined, consents = yield from read_all(
        Each("outlet_find", groups), Each("queue_find", queues), Each("consent_find", asked)
    )
    if len(found) < len(groups):
        yield from each("outlet_ensure", groups)
        found = yield from each("outlet_find", groups)
    if len(lined) < len(queues):
        yield from each("queue_ensure", queues)
        lined = yield from each("queue_find", queues)
    work.dispatch_groups.update({(org, sender, template): group for org, sender, template, group in found})
    work.queue_names.update({(org, sender, recipient): queue_id for org, sender, recipient, queue_id in lined})
    no = ((org, subject, channel) for org, subject, channel, status, _ in consents if status == ConsentStatus.REVOKED)
    work.revoked.update(no)


def _lock_queues(keys: Keys, work: TransactionState) -> Plan[None]:
    ids = keys.queues | {known.queue_id for known in work.facts.values() if known.queue_id is not None}
    wanted = sorted(ids | set(work.queue_names.values()))
    for queue_id, head, tail in (yield from each("queue_lock", [(queue_id,) for queue_id in wanted])):
        work.queues[QueueId(queue_id)] = LockedQueue(QueueId(queue_id), head, tail)


def _store_messages(keys: Keys, work: TransactionState) -> Plan[None]:
    """Insert new messages; for an idempotency key that is already used, find the stored message instead."""
    drafts = [(draft, now) for draft, now in keys.drafts if draft.exempt or addressee(draft) not in work.revoked]
    queue_of = [
        work.queue_names[draft.org_id, draft.sender, draft.recipient] if draft.ordered else None for draft, _ in drafts
    ]
    wanted = [message_rows.draft_row(draft, queue, now) for (draft, now), queue in zip(drafts, queue_of, strict=True)]
    fresh = {(org, key): message_id for message_id, org, key in (yield from each("message_insert", wanted))}
    for (draft, now), queue in zip(drafts, queue_of, strict=True):
        name = (draft.org_id, draft.idempotency_key)
        if name in fresh and name not in work.stored:
            work.stored[name] = (fresh[name], draft.digest, True)
            work.add(fresh[name], draft, queue, now, _shown_in(draft, work))
    missing = sorted({(d.org_id, d.idempotency_key) for d, _ in keys.drafts} - work.stored.keys())
    for org, key, message_id, digest in (yield from each("message_by_key", missing)):
        work.stored[org, key] = (message_id, bytes(digest), False)


def _shown_in(draft: Draft, work: TransactionState) -> ConversationId | None:
    """The conversation that shows the draft's message."""
    if draft.conversation_id is not None:
        return ConversationId(draft.conversation_id)
    shown_in = work.conversations.shown_in.get((draft.org_id, draft.idempotency_key))
    return shown_in if shown_in in work.conversations.by_id else None


def _bind_wamids(to_bind: ToBind, keys: Keys, work: TransactionState) -> Plan[None]:
    """Write the wamid rows; of the settle and the status update, the second finds the row of the first."""
    reported = {(update.number, update.wamid) for update in keys.updates}
    bound: list[WamidKey] = []
    wanted: list[Row] = [(*key, *to_bind[key]) for key in sorted(to_bind)]
    for number, wamid, message_id, fence in (yield from each("wamid_bind", wanted)):
        if message_id in work.facts:
            work.bindings[number, wamid] = WamidBinding(message_id, fence)
            bound.append((number, wamid))
        elif message_id is not None and (number, wamid) in reported:
            raise TransactionConflict("another process settled the message in the meantime")
    for row in (yield from each("report_waiting", sorted(bound))):
        update = message_rows.waiting_report(row)
        work.waiting_statuses.setdefault((update.number, update.wamid), []).append(update)


def _lock_deliveries(work: TransactionState) -> Plan[None]:
    wanted = [(message_id,) for message_id in sorted(work.facts) if message_id not in work.deliveries]
    for row in (yield from each("delivery_lock", wanted)):
        work.deliveries[row[0]] = work.originals[row[0]] = message_rows.delivery(row)


def _recognise_failures(keys: Keys, work: TransactionState) -> Plan[None]:
    """Rare: find failures that are already stored. Their delivery or wamid is locked, so none is stored meanwhile."""
    found = yield from each("report_find", sorted(keys.failures))
    work.known_failures.update((number, wamid, kind, participant) for number, wamid, kind, participant in found)


def _find_suspects(keys: Keys, work: TransactionState) -> Plan[None]:
    wanted = [(message_id,) for message_id in sorted(keys.doubtful)]
    work.suspects.update(row[0] for row in (yield from each("suspects", wanted)))


def _lock_permits(keys: Keys, work: TransactionState) -> Plan[None]:
    """Lock the permits that are given back; their values are not needed to decide."""
    names = keys.permits | {quota_of(work.facts[message_id].org_id) for message_id in keys.untried & work.facts.keys()}
    yield from each("permit_lock", [(name,) for name in sorted(names)])


def _lock_gates(keys: Keys, work: TransactionState) -> Plan[None]:
    for row in (yield from each("gate_lock", sorted(keys.gates))):
        gate = gate_rows.gate(row)
        work.gates[gate.org_id, gate.name, gate.kind] = gate


def _lock_recipients(keys: Keys, work: TransactionState) -> Plan[None]:
    for row in (yield from each("pair_lock", sorted(keys.recipients))):
        recipient = gate_rows.pair(row)
        work.recipients[recipient.sender, recipient.recipient] = recipient
