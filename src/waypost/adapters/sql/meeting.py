"""Who wrote: their contact, their dossier and their conversation are found, or made if they are new.

The usual case is one statement: everyone is known. Whoever is met by two processes at once is stored by one of them;
the other finds that out by the unique key, and its batch runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeAlias

from waypost.adapters.sql import chats, talk_rows
from waypost.adapters.sql.carrying import carry_consents, subjects_of
from waypost.adapters.sql.filing import give_phones
from waypost.adapters.sql.group_commit import Conflict
from waypost.adapters.sql.plan import Plan, Row, Together, each, some, together
from waypost.adapters.sql.talks import Begun, Talks
from waypost.model.audit import SYSTEM, Action, Entity, Entry
from waypost.model.conversation import Arrival, ConversationId
from waypost.model.ids import OrgId
from waypost.model.message import Draft
from waypost.model.time import Instant
from waypost.rules.people import address_of, spellings

Address: TypeAlias = tuple[OrgId, str]
_MET_ELSEWHERE = "somebody else met them first"


@dataclass(slots=True)
class _Person:
    """Somebody who wrote, by any of their addresses."""

    org_id: OrgId
    met_as: str
    names: tuple[str | None, str | None] = (None, None)
    """Name and username, as they call themselves now."""
    stored_names: tuple[str | None, str | None] | None = None
    """None: they are new."""
    id: int | None = None
    dossier: int | None = None
    phone: str | None = None
    """As it came: what their dossier goes by."""
    new_addresses: set[str] = field(default_factory=set)
    talks: dict[str, ConversationId | None] = field(default_factory=dict)
    """Number -> the conversation, if there is one."""
    reply_to: str = ""
    decides: bool = False
    """They say STOP or START."""

    def call(self, told: Arrival) -> None:
        self.names = (told.name or self.names[0], told.username or self.names[1])

    @property
    def file(self) -> tuple[OrgId, str | None, str | None]:
        """A dossier goes by the phone, and for who has none by the id that Meta gives them for this business."""
        return self.org_id, self.phone, None if self.phone else self.met_as


class Crowd:
    """Everyone who wrote in one batch."""

    def __init__(self, found: Sequence[Row]) -> None:
        self._stored = {(row[0], row[1]): row for row in found}
        self._there = {(row[3], row[2]): ConversationId(row[6]) for row in found if row[6] is not None}
        self._by_address: dict[Address, _Person] = {}
        self._by_contact: dict[int, _Person] = {}
        self.joinable: set[tuple[OrgId, int, int]] = set()
        """Contacts that turn out to be one person."""

    def add(self, told: Arrival) -> None:
        person = self._person(told)
        person.reply_to = told.reply_to
        person.decides |= told.consent is not None
        person.phone = told.reply_to if told.reply_to.startswith("+") else person.phone
        if person.id is None:
            person.call(told)
        for address in told.addresses:
            self._by_address[told.org_id, address] = person
            if (told.org_id, address) not in self._stored:
                person.new_addresses.add(address)
        there = self._there.get((person.id, told.number)) if person.id is not None else None
        person.talks.setdefault(told.number, there)

    def _person(self, told: Arrival) -> _Person:
        rows = [self._stored[told.org_id, a] for a in told.addresses if (told.org_id, a) in self._stored]
        first, *others = sorted({row[3] for row in rows}) or [None]
        self.joinable.update((told.org_id, first, other) for other in others)
        stored = [self._known(row) for row in rows if row[3] == first]
        met = [self._by_address.get((told.org_id, address)) for address in told.addresses]
        people = list({id(person): person for person in [*stored, *met] if person}.values())
        if not people:
            return _Person(told.org_id, told.addresses[0])
        for other in people[1:]:
            self._merge(people[0], other)
        return people[0]

    def _known(self, row: Row) -> _Person:
        fresh = _Person(row[0], row[1], (row[4], row[5]), (row[4], row[5]), id=row[3], dossier=row[7])
        return self._by_contact.setdefault(row[3], fresh)

    def _merge(self, person: _Person, other: _Person) -> None:
        """Who looked like two in the same batch: this message has both their addresses."""
        person.new_addresses |= other.new_addresses
        for number in other.talks:
            there = self._there.get((person.id, number)) if person.id is not None else None
            person.talks.setdefault(number, there)
        person.names = (person.names[0] or other.names[0], person.names[1] or other.names[1])
        person.phone = person.phone or other.phone
        person.decides |= other.decides
        self._by_address.update({a: person for a, known in self._by_address.items() if known is other})

    def of(self, told: Arrival) -> _Person:
        return self._by_address[told.org_id, told.addresses[0]]

    def called_anew(self, arrivals: Iterable[Arrival]) -> set[int | None]:
        """Contacts that `rename` may touch: who calls themselves otherwise in any of these, if it is new."""
        anew = {p.id for p in self.people() if p.stored_names not in (None, p.names)}
        for told in arrivals:
            person = self.of(told)
            name, username = person.stored_names or (told.name, told.username)
            if told.name not in (None, "", name) or told.username not in (None, "", username):
                anew.add(person.id)
        return anew

    def people(self) -> list[_Person]:
        return list({id(person): person for person in self._by_address.values()}.values())


def look(arrivals: Sequence[Arrival]) -> Plan[Crowd]:
    """Who of them is known; nothing is locked."""
    wanted = sorted({(told.org_id, address, told.number) for told in arrivals for address in told.addresses})
    crowd = Crowd((yield from each("talk_find", wanted)))
    for told in arrivals:
        crowd.add(told)
    return crowd


def meet(arrivals: Sequence[Arrival], crowd: Crowd, talks: Talks, now: Instant) -> Plan[list[Entry]]:
    """Fill `talks.where` for every arrival; returns what the audit must know. Nothing is locked but what is new."""
    people = crowd.people()
    opened = yield from _store_people([person for person in people if person.id is None], now)
    opened += yield from give_phones(_new_phones(people, talks.joined), now)
    yield from _hold(people, crowd.called_anew(arrivals))
    yield from _store_addresses(people, now)
    talks.begun += yield from _store_conversations(people, now)
    subjects = yield from subjects_of(p.id for p in people if p.decides and p.id is not None)
    for told in arrivals:
        there = crowd.of(told).talks[told.number]
        if there is None:
            raise Conflict(_MET_ELSEWHERE)
        talks.where[told.number, told.wamid] = there
        talks.dossiers[there] = crowd.of(told).dossier
        talks.subjects[there] = subjects.get(crowd.of(told).id or 0, [])
    return opened


def _store_people(new: list[_Person], now: Instant) -> Plan[list[Entry]]:
    if not new:
        return []
    files = {person.file: person.names[0] for person in new}
    wanted = sorted(files, key=lambda key: (key[0], key[1] or "", key[2] or ""))
    fresh = yield from each("dossier_open", [(*key, files[key], now) for key in wanted])
    found = yield from each("dossier_of", wanted)
    by_phone = {(org, phone): dossier for org, phone, _, dossier in found}
    by_reference = {(org, reference): dossier for org, _, reference, dossier in found}
    for p in new:
        p.dossier = by_phone.get((p.org_id, p.phone)) if p.phone else by_reference.get((p.org_id, p.met_as))
    people = sorted({(p.org_id, p.met_as): p for p in new}.items(), key=itemgetter(0))
    rows = [(org, met_as, *p.names, p.dossier, now) for (org, met_as), p in people]
    stored = {(org, met_as): contact for org, met_as, contact in (yield from each("contact_insert", rows))}
    for person in new:
        if (person.org_id, person.met_as) not in stored:
            raise Conflict(_MET_ELSEWHERE)
        person.id = stored[person.org_id, person.met_as]
    return [_opened(org, dossier, now) for org, dossier in fresh]


def _new_phones(people: Iterable[_Person], joined: set[int]) -> Iterator[tuple[OrgId, int, str]]:
    """Of whom we knew and now learn the phone, with the dossier that may lack it."""
    for p in people:
        news = p.stored_names is not None and (p.id in joined or any(a.startswith("phone:") for a in p.new_addresses))
        if news and p.phone is not None and p.dossier is not None:
            yield p.org_id, p.dossier, p.phone


def _opened(org: OrgId, dossier: int, now: Instant) -> Entry:
    return Entry(
        org_id=org,
        at=now,
        entity_type=Entity.DOSSIER,
        entity_id=str(dossier),
        action=Action.CREATED,
        actor=SYSTEM,
        details="opened when the customer wrote for the first time",
    )


def _hold(people: Iterable[_Person], called_anew: set[int | None]) -> Plan[None]:
    """Whoever gets something new must not be joined to somebody else meanwhile: it would be left with nobody.

    Nor may who says STOP get an address meanwhile: the one would not know of the other. Who may be renamed is locked
    here too: contacts come before conversations, in every transaction.
    """
    known = (p for p in people if p.stored_names is not None and p.id is not None)
    changed = (p for p in known if p.new_addresses or p.decides or None in p.talks.values() or p.id in called_anew)
    wanted = sorted((p.id, p.org_id) for p in changed)
    if len((yield from each("contact_lock", wanted))) < len(wanted):
        raise Conflict("two contacts were joined in the meantime")


def _store_addresses(people: Iterable[_Person], now: Instant) -> Plan[None]:
    rows = sorted((p.org_id, address, p.id) for p in people for address in p.new_addresses)
    stored = yield from each("contact_address_insert", rows)
    if len(stored) < len(rows):
        raise Conflict(_MET_ELSEWHERE)
    gained = [p for p in people if len(p.new_addresses) > (p.stored_names is None)]  # the first has nothing to carry
    yield from carry_consents([(p.org_id, p.id) for p in gained if p.id is not None], now)


def _store_conversations(people: Iterable[_Person], now: Instant) -> Plan[list[Begun]]:
    missing = {(p.id, number): p for p in people for number, there in p.talks.items() if there is None}
    rows = [(p.org_id, number, contact, p.reply_to, now) for (contact, number), p in sorted(missing.items(), key=_key)]
    stored = yield from each("conversation_insert", rows)
    yield from each("lane_insert", sorted((row[0], row[3]) for row in stored))
    begun = []
    for conversation, contact, number, _ in stored:
        person = missing[contact, number]
        person.talks[number] = ConversationId(conversation)
        begun.append(Begun(ConversationId(conversation), person.org_id, number, _written_to(person)))
    return begun


def _written_to(person: _Person) -> tuple[str, ...]:
    """Whatever an answer to them, now or before, may have been sent to."""
    ids = (address.removeprefix("user:") for address in person.new_addresses if address.startswith("user:"))
    return tuple(dict.fromkeys((*spellings(person.reply_to), *sorted(ids))))


def _key(item: tuple[tuple[int | None, str], _Person]) -> tuple[int, str]:
    return item[0][0] or 0, item[0][1]


def recall(notices: Sequence[Draft], talks: Talks) -> Plan[None]:
    """Which of those whom the org writes to have a conversation with the number that it writes from."""
    names = {(draft.org_id, address_of(draft.recipient), draft.sender) for draft in notices}
    found = yield from each("talk_find", sorted(names))
    known = {(row[0], row[1], row[2]): ConversationId(row[6]) for row in found if row[6] is not None}
    for draft in notices:
        there = known.get((draft.org_id, address_of(draft.recipient), draft.sender))
        if there is not None:
            talks.noticed[draft.org_id, draft.idempotency_key] = there


def lock(wanted: Iterable[ConversationId], talks: Talks) -> Plan[None]:
    """In the order of their ids: the conversation and its lane."""
    found = yield from each("talk_lock", [(conversation,) for conversation in sorted(set(wanted))])
    for row in found:
        talk = talk_rows.conversation(row)
        talks.conversations[talk.id] = talk
        talks.lanes[talk.id] = talk_rows.lane(row[talk_rows.CONVERSATION :])


def recognise(arrivals: Sequence[Arrival], talks: Talks) -> Plan[None]:
    """Which of them were stored before. Their conversation is locked, so nobody stores one of them meanwhile."""
    wanted = sorted({(told.number, told.wamid) for told in arrivals})
    talks.known.update((number, wamid) for number, wamid in (yield from each("arrival_find", wanted)))


def rename(arrivals: Sequence[Arrival], crowd: Crowd, talks: Talks, now: Instant) -> Plan[None]:
    """What people call themselves is kept up to date; a message that comes again says nothing new of it."""
    for told in arrivals:
        person = crowd.of(told)
        if person.stored_names is not None and (told.number, told.wamid) not in talks.known:
            person.call(told)
    rows = sorted((p.id, *p.names, now) for p in crowd.people() if p.stored_names not in (None, p.names))
    yield from each("contact_rename", rows)


def write(talks: Talks) -> Plan[None]:
    """All but the feeds, which come last: their heads are the hottest rows of all."""
    yield from write_arrivals(talks)
    yield from together(*writes(talks))


def write_arrivals(talks: Talks) -> Plan[None]:
    stored = yield from each("arrival_insert", sorted(talks.arrivals, key=_by_key))
    if len(stored) < len(talks.arrivals):
        raise Conflict("a message arrived twice, under two people")
    if len((yield from each("post_insert", sorted(talks.posts, key=_by_key)))) < len(talks.posts):
        raise Conflict("a post came twice, in two conversations")
    yield from each("turn_forget", talks.reopened)
    yield from chats.write_apart(talks)


def writes(talks: Talks) -> list[Plan[list[Row]]]:
    moved = [talks.conversations[id_] for id_ in sorted(talks.moved & talks.conversations.keys())]
    return [
        each("entry_insert", [talk_rows.entry_row(entry) for entry in talks.entries]),
        each("media_insert", talks.media),
        each("conversation_put", [(c.id, c.position, c.last_id_at, c.address) for c in moved]),
        each("lane_put", [talk_rows.lane_row(talks.lanes[id_]) for id_ in sorted(talks.turned)]),
        each("turn_insert", [talk_rows.turn_row(turn) for turn in talks.turns]),
        *chats.writes(talks),
    ]


def _by_key(row: Row) -> tuple[str, str]:
    return row[0], row[1]


def write_feeds(talks: Talks, *others: Plan[list[Row]]) -> Plan[dict[str, int]]:
    """Along with what else is still to be written. Returns where the feeds stand now."""
    if not talks.items:
        yield from together(*others)
        return {}
    heads = yield Together(some(*others, *feed_writes(talks)), asked="feed_draw")
    return dict(heads)  # type: ignore[arg-type]  # a name and a number each


def feed_writes(talks: Talks) -> list[Plan[list[Row]]]:
    """Numbers are drawn for all items of a feed at once; each counts back from the last."""
    drawn = [(feed, len(talks.items[feed])) for feed in sorted(talks.items)]
    items = [(feed, count - n, *item) for feed, count in drawn for n, item in enumerate(talks.items[feed], 1)]
    return [each("feed_draw", drawn), each("feed_item_append", items)]
