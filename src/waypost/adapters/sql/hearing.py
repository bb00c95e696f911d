"""Customers who say STOP or START: which of it counts, by what is on record for them.

Rare, so it is read only where somebody says it. They are locked by then, so nobody else decides for them meanwhile;
what a person records for somebody who writes for the first time is met when it is written (`consent_told`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from waypost.adapters.sql.plan import Plan, each
from waypost.adapters.sql.talks import Talks
from waypost.model.conversation import Arrival
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.rules.consent_words import counts_from

ConsentKey: TypeAlias = tuple[OrgId, str, str]


def rows_of(told: Arrival, talks: Talks) -> list[ConsentKey]:
    """Where the word of who wrote it is kept: for each of their addresses, and for their dossier."""
    where = talks.where[told.number, told.wamid]
    dossier = talks.dossiers[where]
    subjects = [*talks.subjects[where], *([f"dossier:{dossier}"] if dossier is not None else [])]
    return [(told.org_id, subject, Channel.WHATSAPP.value) for subject in subjects]


def hear(arrivals: Sequence[Arrival], talks: Talks, now: Instant) -> Plan[None]:
    """Fill `talks.heard`, one after the other: each word meets those before it, in this batch and on record."""
    spoken = [told for told in arrivals if told.consent and (told.number, told.wamid) not in talks.known]
    asked = sorted({key for told in spoken for key in rows_of(told, talks)})
    latest = {(row[0], row[1], row[2]): Instant(row[4]) for row in (yield from each("consent_find", asked))}
    for told in spoken:
        keys = rows_of(told, talks)
        known = max((latest[key] for key in keys if key in latest), default=None)
        at = counts_from(told.consent.status, told.at, known, now) if told.consent else None
        if at is not None:
            talks.heard.setdefault((told.number, told.wamid), at)
            latest.update(dict.fromkeys(keys, at))
