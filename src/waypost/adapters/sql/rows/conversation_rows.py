"""Conversion of conversation rows; the column order here is the order in the statements."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waypost.adapters.sql.engine.plan import Row
from waypost.model.conversation import Contact, ContactId, Conversation, EndedTurn, Entry, FeedItem, TurnState

CONVERSATION = 11
TURN_STATE = 13


def conversation(row: Row) -> Conversation:
    return Conversation(
        id=row[0],
        org_id=row[1],
        number=row[2],
        contact_id=row[3],
        address=row[4],
        position=row[5],
        last_id_at=row[6],
        created_at=row[7],
        assignee=row[8],
        state=row[9],
        labels=tuple(msgspec.json.decode(row[10], type=list[str])),
    )


def turn_state(row: Row) -> TurnState:
    return TurnState(
        conversation_id=row[0],
        org_id=row[1],
        tail=row[2],
        done=row[3],
        hi=row[4],
        fence=row[5],
        first_at=row[6],
        due_at=row[7],
        owner=row[8],
        claimed_at=row[9],
        lease_until=row[10],
        tries=row[11],
        floor=row[12],
    )


def turn_state_row(of: TurnState) -> Row:
    """The key, then the columns that an update may change."""
    return (
        of.conversation_id,
        of.tail,
        of.done,
        of.hi,
        of.fence,
        of.first_at,
        of.due_at,
        of.owner,
        of.claimed_at,
        of.lease_until,
        of.tries,
        of.floor,
    )


def entry(row: Row) -> Entry:
    return Entry(
        conversation_id=row[0],
        position=row[1],
        id_at=row[2],
        at=row[3],
        sender=row[4],
        type=row[5],
        body=row[6],
        wamid=row[7],
        message_id=row[8],
        client_message_id=row[9],
        deleted_at=row[10],
        kept_in=row[11],
        kept_at=row[12],
        status=row[13],
    )


def entry_row(of: Entry) -> Row:
    return (
        of.conversation_id,
        of.position,
        of.id_at,
        of.at,
        of.sender,
        of.type,
        of.body,
        of.wamid,
        of.message_id,
        of.client_message_id,
    )


def contacts(rows: Sequence[Row]) -> dict[ContactId, Contact]:
    """From one row per address; each contact's addresses are sorted."""
    found: dict[ContactId, Contact] = {}
    for id_, org, name, username, dossier, address in sorted(rows, key=lambda row: (row[0], row[5] or "")):
        earlier = found[id_].addresses if id_ in found else ()
        found[id_] = Contact(
            id=id_, org_id=org, name=name, username=username, dossier_id=dossier, addresses=(*earlier, address)
        )
    return found


def turn(row: Row) -> EndedTurn:
    return EndedTurn(
        conversation_id=row[0],
        hi=row[1],
        lo=row[2],
        org_id=row[3],
        state=row[4],
        replies=row[5],
        tries=row[6],
        fence=row[7],
        started_at=row[8],
        ended_at=row[9],
        error=row[10],
    )


def turn_row(of: EndedTurn) -> Row:
    return (
        of.conversation_id,
        of.hi,
        of.lo,
        of.org_id,
        of.state,
        of.replies,
        of.tries,
        of.fence,
        of.started_at,
        of.ended_at,
        of.error,
    )


def feed_item(row: Row) -> FeedItem:
    return FeedItem(
        feed=row[0], seq=row[1], at=row[2], kind=row[3], conversation_id=row[4], position=row[5], body=row[6]
    )
