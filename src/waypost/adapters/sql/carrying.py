"""A customer's no counts for the whole person: for every address they are known by, in every spelling of a phone."""

from __future__ import annotations

from collections.abc import Iterable

from waypost.adapters.sql.plan import Plan, each
from waypost.model.dossier import ConsentStatus
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.rules.people import spellings

_CHANNELS = (Channel.WHATSAPP.value, Channel.WHATSAPP_MARKETING.value)
"""What goes to the addresses that a contact has."""


def subjects_at(address: str) -> list[str]:
    """Under which a message to this phone or user id may ask for consent."""
    return [f"address:{spelled}" for spelled in spellings(address)]


def subjects_of(contacts: Iterable[int]) -> Plan[dict[int, list[str]]]:
    """Of each contact, those of all their addresses."""
    found: dict[int, list[str]] = {contact: [] for contact in contacts}
    for row in (yield from each("contact_of", [(contact,) for contact in sorted(found)])):
        _, _, address = row[5].partition(":")  # `phone:` or `user:`
        found[row[0]] += subjects_at(address)
    return found


def carry_consents(contacts: Iterable[tuple[OrgId, int]], now: Instant) -> Plan[None]:
    """Whoever said no does not say yes by having one more address. The contacts are locked.

    It is as old as it was: what they said since is said for the new address too.
    """
    orgs = {contact: org for org, contact in contacts}
    known = yield from subjects_of(orgs)
    asked = {
        (orgs[contact], subject, channel): contact
        for contact, subjects in known.items()
        for subject in subjects
        for channel in _CHANNELS
    }
    said = yield from each("consent_find", sorted(asked))
    revoked = {(row[0], row[1], row[2]): row[4] for row in said if row[3] == ConsentStatus.REVOKED}
    unwilling: dict[tuple[int, str], Instant] = {}
    for key, at in revoked.items():
        who = (asked[key], key[2])
        unwilling[who] = max(at, unwilling.get(who, at))
    missing = [key for key, contact in asked.items() if (contact, key[2]) in unwilling and key not in revoked]
    no = [(*key, ConsentStatus.REVOKED.value, unwilling[asked[key], key[2]], now) for key in sorted(missing)]
    yield from each("consent_put", no)
