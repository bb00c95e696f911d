"""STOP and START among what customers write: decided here, stored and confirmed with the message itself."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from waypost.model.audit import SYSTEM
from waypost.model.conversation import Arrival, ConsentSaid
from waypost.model.message import Draft
from waypost.model.policy import ConsentWords
from waypost.rules import consent_words, people, replies


def with_consent(told: Arrival, words: ConsentWords | None) -> Arrival:
    """The bot does not answer a STOP: its confirmation does."""
    if told.type not in consent_words.CAN_SAY:
        return told
    said = consent_words.heard_in(people.read(told.body, told.type), words)
    if said is None:
        return told
    confirmation = _draft(told, said.confirmation) if said.confirmation else None
    return replace(told, asks=False, consent=ConsentSaid(status=said.status, word=said.word, confirmation=confirmation))


def _draft(told: Arrival, text: str) -> Draft:
    """Exempt: whoever says no is told that we heard it."""
    key = f"consent:{told.number}:{hashlib.sha256(told.wamid.encode()).hexdigest()}"
    payload = {"type": "text", "text": {"body": text}}
    return replace(replies.draft(told.org_id, told.number, told.reply_to, payload, key, SYSTEM), exempt=True)
