"""Two contacts that turn out to be one person become one, and nothing of either is lost.

Rare: a customer who hid their phone number writes from it one day, or changes it. What the other contact said and was
told is appended to the conversation that stays, with its own times; what still waits for an answer in either comes
last, and is asked here. However much was said, it is moved by a handful of statements.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from waypost.adapters.sql import meeting, talk_rows
from waypost.adapters.sql.carrying import carry_consents
from waypost.adapters.sql.group_commit import Conflict
from waypost.adapters.sql.plan import Once, Plan, each
from waypost.adapters.sql.rows import audit_row
from waypost.adapters.sql.talks import Talks
from waypost.model.audit import SYSTEM, Action, Entity, Entry
from waypost.model.conversation import ContactId, Conversation, ConversationId, Lane, Position
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules import lane as rule
from waypost.rules.lane import Seam


def join_all(pairs: Iterable[tuple[OrgId, int, int]], told: Talks, now: Instant) -> Plan[None]:
    """As much as these pairs say; who was joined by another pair is found anew."""
    done, pairs = False, sorted(pairs)
    yield from each("contact_lock", sorted({(contact, org) for org, *both in pairs for contact in both}))
    for org, keep, other in pairs:
        done |= yield from join(org, ContactId(keep), ContactId(other), told, now)
    if not done:
        raise Conflict("two contacts were joined in the meantime")


def join(org: OrgId, keep: ContactId, other: ContactId, told: Talks, now: Instant) -> Plan[bool]:
    """The contacts first: who adds anything to them holds them. What screens are told is left in `told`."""
    contacts = yield from each("contact_lock", [(contact, org) for contact in sorted({keep, other})])
    if len(contacts) < 2:
        return False
    found = [talk_rows.conversation(row) for row in (yield Once("conversations_of_both", (keep, other, org)))]
    talks = Talks(items=told.items)
    yield from meeting.lock([talk.id for talk in found], talks)
    here = {talk.number: talk.id for talk in talks.conversations.values() if talk.contact_id == keep}
    moved: list[tuple[ConversationId, ContactId]] = []
    for talk in [talk for talk in talks.conversations.values() if talk.contact_id == other]:
        if talk.number in here:
            yield from _append(talk, here[talk.number], talks, now)
        else:
            moved.append((talk.id, keep))
    yield from each("conversation_give", sorted(moved))
    yield Once("addresses_give", (other, keep))
    yield Once("contact_fill", (keep, other, now))
    yield Once("contact_drop", (other,))
    yield from meeting.write(talks)
    yield from carry_consents([(org, keep)], now)
    told.joined.add(keep)
    return True


def _append(gone: Conversation, here: ConversationId, talks: Talks, now: Instant) -> Plan[None]:
    """What was answered in either comes before what waits in either, so that one interval still says what to ask."""
    stays = talks.conversations[here]
    seam = Seam(
        here=(yield from _answered(stays, talks.lanes[here])),
        here_end=stays.position,
        gone=(yield from _answered(gone, talks.lanes[gone.id])),
        gone_end=gone.position,
    )
    base = Instant(max(now, stays.last_id_at))
    if seam.moves_waiting:
        yield from _step_aside(stays, seam, base)
    yield from _move(gone, here, seam, base)
    if seam.moves_waiting:
        yield from _step_back(stays, seam, base)
    talks.move(replace(stays, position=seam.end, last_id_at=Instant(base + seam.end)))
    talks.turn(rule.joined(talks.lanes[here], talks.lanes[gone.id], seam, now))
    talks.tell(here, "joined", now, seam.end, msgspec.json.encode({"gone": gone.id}).decode())
    yield from each("audit_insert", [audit_row(_recorded(gone, here, now))])
    yield Once("messages_move", (gone.id, here))
    yield Once("turns_move", (gone.id, here, seam.here))
    yield Once("lane_drop", (gone.id,))
    yield Once("conversation_drop", (gone.id,))


def _recorded(gone: Conversation, here: ConversationId, now: Instant) -> Entry:
    return Entry(
        org_id=gone.org_id,
        at=now,
        entity_type=Entity.CONVERSATION,
        entity_id=str(here),
        action=Action.JOINED,
        actor=SYSTEM,
        details=f"with conversation {gone.id}: both are the same person's",
    )


def _answered(talk: Conversation, lane: Lane) -> Plan[Position]:
    """Up to where nothing waits: what the bot said last comes after the last message that it answered."""
    if lane.tail <= lane.done:
        return talk.position
    ((first,),) = yield Once("entry_first_waiting", (talk.id, lane.done))
    return lane.done if first is None else Position(first - 1)


def _move(gone: Conversation, here: ConversationId, seam: Seam, base: Instant) -> Plan[None]:
    """An entry's id is as late as its place, and later than all that it comes after."""
    parts = [(0, seam.gone, seam.here), (seam.gone, seam.gone_end, seam.here_end)]
    for after, last, shift in parts:
        if after < last:
            yield Once("arrivals_move", (gone.id, here, shift, after, last, gone.number))
            yield Once("posts_move", (gone.id, here, shift, after, last, base + shift))
            yield Once("media_move", (gone.id, here, shift, after, last))
            yield Once("search_clear", (here, after + shift, last + shift))
            yield Once("search_move", (gone.id, here, shift, after, last))
            yield Once("entries_move", (gone.id, here, shift, after, last, base + shift))


def _step_aside(stays: Conversation, seam: Seam, base: Instant) -> Plan[None]:
    """Below nothing: a row that moves up within its own conversation would meet the next one."""
    yield Once("arrivals_move", (stays.id, stays.id, seam.gone, seam.here, seam.here_end, stays.number))
    yield Once("posts_move", (stays.id, stays.id, seam.gone, seam.here, seam.here_end, base + seam.gone))
    yield Once("media_aside", (stays.id, seam.here))
    yield Once("search_aside", (stays.id, seam.here))
    yield Once("entries_aside", (stays.id, seam.here))


def _step_back(stays: Conversation, seam: Seam, base: Instant) -> Plan[None]:
    yield Once("media_back", (stays.id, seam.gone))
    yield Once("search_back", (stays.id, seam.gone))
    yield Once("entries_back", (stays.id, seam.gone, base + seam.gone))
