"""Two contacts that turn out to be one person become one, and nothing of either is lost.

Rare: a customer who hid their phone number writes from it one day, or changes it. What the other contact said and was
told is appended to the conversation that stays, with its own times; what still waits for an answer there is asked here.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from waypost.adapters.sql import meeting, talk_rows
from waypost.adapters.sql.carrying import carry_consents
from waypost.adapters.sql.group_commit import Conflict
from waypost.adapters.sql.plan import Once, Plan, each
from waypost.adapters.sql.talks import Talks
from waypost.model.conversation import ContactId, Conversation, ConversationId, Position
from waypost.model.ids import OrgId
from waypost.model.time import Instant
from waypost.rules import lane as rule


def join_all(pairs: Iterable[tuple[OrgId, int, int]], told: Talks, now: Instant) -> Plan[None]:
    """As much as these pairs say; who was joined by another pair is found anew."""
    done = False
    for org, keep, other in sorted(pairs):
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
    return True


def _append(gone: Conversation, here: ConversationId, talks: Talks, now: Instant) -> Plan[None]:
    shift = talks.conversations[here].position
    for entry in [talk_rows.entry(row) for row in (yield Once("entries_all", (gone.id,)))]:
        position = talks.say(
            here, entry.sender, entry.type, entry.body, entry.at, now, wamid=entry.wamid, message_id=entry.message_id
        )
        if entry.wamid is not None:
            yield Once("arrival_move", (gone.number, entry.wamid, here, position))
            yield Once("media_move", (gone.id, entry.position, here, position))
    end = Position(talks.conversations[here].position)
    talks.turn(rule.joined(talks.lanes[here], talks.lanes[gone.id], shift, end, now))
    talks.tell(here, "joined", now, end, msgspec.json.encode({"gone": gone.id}).decode())
    yield Once("messages_move", (gone.id, here))
    yield Once("turns_move", (gone.id, here, shift))
    yield Once("entries_drop", (gone.id,))
    yield Once("lane_drop", (gone.id,))
    yield Once("conversation_drop", (gone.id,))
