"""A customer's opt-out applies to every address of their contact, in every spelling of a phone."""

from __future__ import annotations

from collections.abc import Iterable

from waypost.adapters.sql.engine.plan import Plan, each
from waypost.model.dossier import ConsentStatus
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.rules.conversations.phone_forms import spellings

_CHANNELS = (Channel.WHATSAPP.value, Channel.WHATSAPP_MARKETING.value)
"""The channels that send to a contact's addresses."""


def subjects_at(address: str) -> list[str]:
    """The consent subjects of a phone number or user id."""
    return [f"address:{spelled}" for spelled in spellings(address)]


def subjects_of(contacts: Iterable[int]) -> Plan[dict[int, list[str]]]:
    """The consent subjects of all addresses of each contact."""
    found: dict[int, list[str]] = {contact: [] for contact in contacts}
    for row in (yield from each("contact_of", [(contact,) for contact in sorted(found)])):
        _, _, address = row[5].partition(":")  # `phone:` or `user:`
        found[row[0]] += subjects_at(address)
    return found


def inherit_consents(contacts: Iterable[tuple[OrgId, int]], now: Instant) -> Plan[None]:
    """Copy an opt-out to the contact's new addresses. The contacts are locked.

    The copy keeps its time, so that a later opt-in still overrides it.
    """
    orgs = {contact: org for org, contact in contacts}
    known = yield from subjects_of(orgs)
    asked = {
        (orgs[contact], subject, channel): contact
        for contact, subjects in known.items()
        for subject in subjects
        for channel in _CHANNELS
    }
    consents = yield from each("consent_find", sorted(asked))
    revoked = {(row[0], row[1], row[2]): row[4] for row in consents if row[3] == ConsentStatus.REVOKED}
    unwilling: dict[tuple[int, str], Instant] = {}
    for key, at in revoked.items():
        owner = (asked[key], key[2])
        unwilling[owner] = max(at, unwilling.get(owner, at))
    missing = [key for key, contact in asked.items() if (contact, key[2]) in unwilling and key not in revoked]
    no = [(*key, ConsentStatus.REVOKED.value, unwilling[asked[key], key[2]], now) for key in sorted(missing)]
    yield from each("consent_put", no)
