"""Merges two contacts that turn out to be the same person, without losing anything of either.

Rare: a customer who hid their phone number writes from it one day, or changes it. The other contact's entries are
appended to the remaining conversation with their own times; unanswered entries of both come last and are answered
there. A fixed number of statements moves any number of entries.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql.engine.group_commit import TransactionConflict
from waypost.adapters.sql.engine.plan import Once, Plan, each
from waypost.adapters.sql.kernel import find_or_create_contacts
from waypost.adapters.sql.kernel.consent_inheritance import inherit_consents
from waypost.adapters.sql.kernel.conversation_work import ConversationWork
from waypost.adapters.sql.rows import conversation_rows
from waypost.adapters.sql.rows.message_rows import audit_row
from waypost.model.audit import SYSTEM, AuditAction, AuditEntry, Entity
from waypost.model.conversation import ContactId, Conversation, ConversationId, Position, TurnState
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules.conversations import turn_state as rule
from waypost.rules.conversations.turn_state import MergePoint


def merge_contact_pairs(
    pairs: Iterable[tuple[OrgId, int, int]], conversations: ConversationWork, now: Instant
) -> Plan[None]:
    """Merge each pair that still exists; the caller looks up the contacts again afterwards."""
    done, pairs = False, sorted(pairs)
    yield from each("contact_lock", sorted({(contact, org) for org, *both in pairs for contact in both}))
    for org, keep, other in pairs:
        done |= yield from merge_contacts(org, ContactId(keep), ContactId(other), conversations, now)
    if not done:
        raise TransactionConflict("two contacts were merged in the meantime")


def merge_contacts(
    org: OrgId, keep: ContactId, other: ContactId, conversations: ConversationWork, now: Instant
) -> Plan[bool]:
    """Lock the contacts first, as every writer does. The feed items are added to `conversations`."""
    contacts = yield from each("contact_lock", [(contact, org) for contact in sorted({keep, other})])
    if len(contacts) < 2:
        return False
    found = [conversation_rows.conversation(row) for row in (yield Once("conversations_of_both", (keep, other, org)))]
    merged = ConversationWork(items=conversations.items)
    yield from find_or_create_contacts.lock_conversations([conversation.id for conversation in found], merged)
    here = {
        conversation.number: conversation.id
        for conversation in merged.by_id.values()
        if conversation.contact_id == keep
    }
    moved: list[tuple[ConversationId, ContactId]] = []
    for conversation in [conversation for conversation in merged.by_id.values() if conversation.contact_id == other]:
        if conversation.number in here:
            yield from _append(conversation, here[conversation.number], merged, now)
        else:
            moved.append((conversation.id, keep))
    yield from each("conversation_give", sorted(moved))
    yield Once("addresses_give", (other, keep))
    yield Once("contact_fill", (keep, other, now))
    yield Once("contact_drop", (other,))
    yield from find_or_create_contacts.write(merged)
    yield from inherit_consents([(org, keep)], now)
    conversations.joined.add(keep)
    return True


def _append(gone: Conversation, here: ConversationId, conversations: ConversationWork, now: Instant) -> Plan[None]:
    """Place answered entries of both before unanswered ones, so that one interval still describes the next turn."""
    stays = conversations.by_id[here]
    seam = MergePoint(
        here=(yield from _answered(stays, conversations.turn_states[here])),
        here_end=stays.position,
        gone=(yield from _answered(gone, conversations.turn_states[gone.id])),
        gone_end=gone.position,
    )
    base = Instant(max(now, stays.last_id_at))
    if seam.moves_waiting:
        yield from _step_aside(stays, seam, base)
    yield from _move(gone, here, seam, base)
    if seam.moves_waiting:
        yield from _step_back(stays, seam, base)
    conversations.move(replace(stays, position=seam.end, last_id_at=Instant(base + seam.end)))
    conversations.turn(
        rule.merge_turn_states(conversations.turn_states[here], conversations.turn_states[gone.id], seam, now)
    )
    conversations.add_feed_items(here, "joined", now, seam.end, msgspec.json.encode({"gone": gone.id}).decode())
    yield from each("audit_insert", [audit_row(_recorded(gone, here, now))])
    yield Once("messages_move", (gone.id, here))
    yield Once("turns_move", (gone.id, here, seam.here))
    yield Once("lane_drop", (gone.id,))
    yield Once("conversation_drop", (gone.id,))


def _recorded(gone: Conversation, here: ConversationId, now: Instant) -> AuditEntry:
    return AuditEntry(
        org_id=gone.org_id,
        at=now,
        entity_type=Entity.CONVERSATION,
        entity_id=str(here),
        action=AuditAction.JOINED,
        actor=SYSTEM,
        details=f"with conversation {gone.id}: both are the same person's",
    )


def _answered(conversation: Conversation, turn_state: TurnState) -> Plan[Position]:
    """The position up to which everything is answered: the bot's last reply follows the last message it answered."""
    if turn_state.tail <= turn_state.done:
        return conversation.position
    ((first,),) = yield Once("entry_first_waiting", (conversation.id, turn_state.done))
    return turn_state.done if first is None else Position(first - 1)


def _move(gone: Conversation, here: ConversationId, seam: MergePoint, base: Instant) -> Plan[None]:
    """An entry's id follows its position: it is later than the ids of all entries before it."""
    parts = [(0, seam.gone, seam.here), (seam.gone, seam.gone_end, seam.here_end)]
    for after, last, shift in parts:
        if after < last:
            yield Once("arrivals_move", (gone.id, here, shift, after, last, gone.number))
            yield Once("posts_move", (gone.id, here, shift, after, last, base + shift))
            yield Once("media_move", (gone.id, here, shift, after, last))
            yield Once("search_clear", (here, after + shift, last + shift))
            yield Once("search_move", (gone.id, here, shift, after, last))
            yield Once("entries_move", (gone.id, here, shift, after, last, base + shift))


def _step_aside(stays: Conversation, seam: MergePoint, base: Instant) -> Plan[None]:
    """Move entries to negative positions: shifted in place, a row would collide with the next one."""
    yield Once("arrivals_move", (stays.id, stays.id, seam.gone, seam.here, seam.here_end, stays.number))
    yield Once("posts_move", (stays.id, stays.id, seam.gone, seam.here, seam.here_end, base + seam.gone))
    yield Once("media_aside", (stays.id, seam.here))
    yield Once("search_aside", (stays.id, seam.here))
    yield Once("entries_aside", (stays.id, seam.here))


def _step_back(stays: Conversation, seam: MergePoint, base: Instant) -> Plan[None]:
    yield Once("media_back", (stays.id, seam.gone))
    yield Once("search_back", (stays.id, seam.gone))
    yield Once("entries_back", (stays.id, seam.gone, base + seam.gone))
