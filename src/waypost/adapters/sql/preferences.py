"""What customers told the provider about marketing messages, written where a message to be asks for consent."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.adapters.sql.audit import written
from waypost.adapters.sql.carrying import subjects_at
from waypost.adapters.sql.consents import subject_of
from waypost.adapters.sql.plan import Plan, each
from waypost.model.audit import PROVIDER, Action, Entity, Entry
from waypost.model.dossier import DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant
from waypost.model.update import Deed, Preference

_CHANNEL = Channel.WHATSAPP_MARKETING.value
_Subject = tuple[OrgId, str]


def prefer(deeds: Sequence[Deed], now: Instant) -> Plan[None]:
    """The latest wish of each customer, for their addresses and their dossier; a later word of anybody stands."""
    wishes = [(deed.org_id, act) for deed in deeds for act in deed.acts if isinstance(act, Preference)]
    if not wishes:
        return
    wishes.sort(key=lambda wish: wish[1].at)
    asked = {(org, address) for org, wish in wishes for address in wish.addresses}
    found = yield from each("dossiers_reached", sorted(asked))
    dossiers: dict[_Subject, DossierId] = {(row[1], row[2]): row[0] for row in found}
    told = {(org, subject): wish for org, wish in wishes for subject in _subjects(org, wish, dossiers)}
    before = yield from each("consent_find", [(*subject, _CHANNEL) for subject in sorted(told)])
    said = {(row[0], row[1]): row[3] for row in before}
    put = [(*subject, _CHANNEL, told[subject].status.value, told[subject].at, now) for subject in sorted(told)]
    heard = {(row[0], row[1]) for row in (yield from each("consent_told", put))}
    changed = {subject for subject in heard if said.get(subject) != told[subject].status}
    yield from written(*_entries(told, said, changed, dossiers))


def _subjects(org: OrgId, wish: Preference, dossiers: dict[_Subject, DossierId]) -> list[str]:
    known = [dossiers[org, address] for address in wish.addresses if (org, address) in dossiers]
    reached = [subject for address in wish.addresses for subject in subjects_at(address)]
    return [*reached, *(subject_of(dossier) for dossier in known)]


def _entries(
    told: dict[_Subject, Preference],
    said: dict[_Subject, str],
    changed: set[_Subject],
    dossiers: dict[_Subject, DossierId],
) -> list[Entry]:
    """One for each customer: under the dossier where there is one, else under the first address."""
    named: dict[_Subject, Preference] = {}
    for (org, _), wish in sorted(told.items(), key=lambda each_: each_[0]):
        named.setdefault((org, wish.addresses[0]), wish)
    entries = []
    for (org, address), wish in named.items():
        dossier = next((dossiers[org, each_] for each_ in wish.addresses if (org, each_) in dossiers), None)
        subject = (org, f"address:{address}" if dossier is None else subject_of(dossier))
        if subject in changed and told[subject] is wish:
            entity = (Entity.ADDRESS, address) if dossier is None else (Entity.DOSSIER, str(dossier))
            entries.append(_entry(org, *entity, wish, said.get(subject, "not recorded")))
    return entries


def _entry(org: OrgId, kind: Entity, name: str, wish: Preference, before: str) -> Entry:
    return Entry(
        org_id=org,
        at=wish.at,
        entity_type=kind,
        entity_id=name,
        action=Action.CONSENT_CHANGED,
        actor=PROVIDER,
        details=f"{_CHANNEL}: {wish.status.value} (before: {before})",
    )
