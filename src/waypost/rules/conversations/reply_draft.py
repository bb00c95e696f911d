"""A message of a conversation as a draft for the outbox: ordered, with high priority and short retries."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from waypost.model.ids import NumberId, OrgId
from waypost.model.message import Channel, Draft
from waypost.rules.sending.retry import SHORT

PRIORITY = 7
"""Replies to waiting customers go before bulk messages."""


def draft(org: OrgId, number: NumberId, to: str, payload: dict[str, Any], key: str, created_by: str) -> Draft:
    """One queue per customer keeps the order; the same key is never stored twice."""
    content = msgspec.json.encode(payload, order="deterministic")
    return Draft(
        org_id=org,
        sender=number,
        channel=Channel.WHATSAPP,
        recipient=to,
        template=None,
        subject=None,
        payload=content.decode(),
        dossier_id=None,
        idempotency_key=key,
        digest=hashlib.sha256(content).digest(),
        priority=PRIORITY,
        scheduled_at=None,
        expires_at=None,
        ordered=True,
        max_attempts=len(SHORT.steps),
        created_by=created_by,
    )
