"""Two contacts that turn out to be one person become one, and nothing of either is lost.

Rare: a customer who hid their phone number writes from it one day, or changes it. What the other contact said and was
told is appended to the conversation that stays, with its own times; what still waits for an answer there is asked here.
"""

from __future__ import annotations

from msgspec.structs import replace

from waypost.adapters.sql import meeting, talk_rows
from waypost.adapters.sql.plan import Once, Plan, each
from waypost.adapters.sql.talks import Talks
from waypost.model.conversation import BOT, ContactId, Conversation, ConversationId, Position
from waypost.model.ids import OrgId
from waypost.model.time import Instant


def join(org: OrgId, keep: ContactId, other: ContactId, now: Instant) -> Plan[bool]:
    found = [talk_rows.conversation(row) for row in (yield Once("conversations_of_both", (keep, other, org)))]
    talks = Talks()
    yield from meeting.lock([talk.id for talk in found], talks)
    contacts = yield from each("contact_lock", [(contact, org) for contact in sorted((keep, other))])
    if len(contacts) < 2:
        return False
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
    yield from meeting.write_feeds(talks)
    return True


def _append(gone: Conversation, here: ConversationId, talks: Talks, now: Instant) -> Plan[None]:
    rows = yield Once("entries_all", (gone.id,))
    lane, left = talks.lanes[here], talks.lanes[gone.id]
    for entry in (talk_rows.entry(row) for row in rows):
        position = talks.say(
            here, entry.sender, entry.type, entry.body, entry.at, now, wamid=entry.wamid, message_id=entry.message_id
        )
        if entry.position == left.tail and left.tail > left.done and lane.floor == BOT:
            lane = replace(lane, tail=position, first_at=lane.first_at or now, due_at=lane.due_at or now)
        if entry.wamid is not None:
            yield Once("arrival_move", (gone.number, entry.wamid, here, position))
            yield Once("media_move", (gone.id, entry.position, here, position))
    if gone.position > 0:
        talks.turn(lane)
    talks.tell(here, "joined", now, Position(talks.conversations[here].position))
    yield Once("messages_move", (gone.id, here))
    yield Once("entries_drop", (gone.id,))
    yield Once("lane_drop", (gone.id,))
    yield Once("conversation_drop", (gone.id,))
