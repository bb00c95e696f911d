"""Recognises STOP and START in inbound messages; the change is stored and confirmed with the message."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from waypost.model.audit import SYSTEM
from waypost.model.conversation import ConsentReply, InboundMessage
from waypost.model.message import Draft
from waypost.model.policy import ConsentWords
from waypost.rules.conversations import message_text, reply_draft
from waypost.rules.receiving import consent_words


def with_consent(inbound: InboundMessage, words: ConsentWords | None) -> InboundMessage:
    """The message with its consent change, if it has one; the confirmation replaces the bot's answer."""
    if inbound.type not in consent_words.CAN_SAY:
        return inbound
    change = consent_words.consent_in_message(message_text.read(inbound.body, inbound.type), words)
    if change is None:
        return inbound
    confirmation = _draft(inbound, change.confirmation) if change.confirmation else None
    return replace(
        inbound, asks=False, consent=ConsentReply(status=change.status, word=change.word, confirmation=confirmation)
    )


def _draft(inbound: InboundMessage, text: str) -> Draft:
    """Exempt from the consent check, since it confirms a STOP."""
    key = f"consent:{inbound.number}:{hashlib.sha256(inbound.wamid.encode()).hexdigest()}"
    payload = {"type": "text", "text": {"body": text}}
    return replace(
        reply_draft.draft(inbound.org_id, inbound.number, inbound.reply_to, payload, key, SYSTEM), exempt=True
    )
