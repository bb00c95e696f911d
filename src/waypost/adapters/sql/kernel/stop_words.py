"""Decides which STOP and START messages take effect, given the consents on record.

Rare, so the consents are read only for such messages. The contact is locked by then, so no other transaction decides
for it meanwhile; a consent recorded for a contact's first message is compared when it is written (`consent_told`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from waypost.adapters.sql.engine.plan import Plan, each
from waypost.adapters.sql.kernel.conversation_work import ConversationWork
from waypost.model.conversation import InboundMessage
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.rules.receiving.consent_words import counts_from

ConsentKey: TypeAlias = tuple[OrgId, str, str]


def consent_rows(inbound: InboundMessage, conversations: ConversationWork) -> list[ConsentKey]:
    """The consent keys of the message's contact: one for each address, and one for the dossier."""
    where = conversations.where[inbound.number, inbound.wamid]
    dossier = conversations.dossiers[where]
    subjects = [*conversations.subjects[where], *([f"dossier:{dossier}"] if dossier is not None else [])]
    return [(inbound.org_id, subject, Channel.WHATSAPP.value) for subject in subjects]


def record_consent_words(
    messages: Sequence[InboundMessage], conversations: ConversationWork, now: Instant
) -> Plan[None]:
    """Fill `conversations.consent_times`: each message is compared with those before it and with the record."""
    spoken = [
        inbound
        for inbound in messages
        if inbound.consent and (inbound.number, inbound.wamid) not in conversations.known
    ]
    asked = sorted({key for inbound in spoken for key in consent_rows(inbound, conversations)})
    latest = {(row[0], row[1], row[2]): Instant(row[4]) for row in (yield from each("consent_find", asked))}
    for inbound in spoken:
        keys = consent_rows(inbound, conversations)
        known = max((latest[key] for key in keys if key in latest), default=None)
        at = counts_from(inbound.consent.status, inbound.at, known, now) if inbound.consent else None
        if at is not None:
            conversations.consent_times.setdefault((inbound.number, inbound.wamid), at)
            latest.update(dict.fromkeys(keys, at))
