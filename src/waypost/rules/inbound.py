"""What a customer's message says of who wrote it, when, and whether it wants an answer; the rest is kept as it came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from waypost.model.conversation import Arrival, MediaNote, Times
from waypost.model.ids import NumberId, OrgId, Wamid
from waypost.model.time import Instant
from waypost.rules import json_parts, people, recipient
from waypost.rules.json_parts import LONGEST, UNREADABLE, plain

NOTICES = ("system",)
"""Meta's own words, such as a changed phone number, come among the messages."""
CORRECTIONS = ("edit", "revoke")
ASIDES = ("reaction", *CORRECTIONS, *NOTICES)
"""They are about other messages: nobody waits for an answer."""
WITH_FILE = ("image", "video", "audio", "document", "sticker")
_TAKEN_APART = (*NOTICES, *WITH_FILE)


class Nobody(Exception):
    """It does not say who wrote it, or not to whom we could answer."""


class _System(msgspec.Struct):
    wa_id: str | int | None = None
    new_wa_id: str | int | None = None
    user_id: str | None = None
    previous_user_id: str | None = None
    customer: str | int | None = None


class Written(msgspec.Struct):
    id: str
    timestamp: str | int | float | None = None
    from_: str | int | None = msgspec.field(default=None, name="from")
    from_user_id: str | None = None
    group_id: str | None = None
    type: str = "unknown"


class _Profile(msgspec.Struct):
    name: str | None = None
    username: str | None = None


class Contact(msgspec.Struct):
    wa_id: str | int | None = None
    user_id: str | None = None
    profile: _Profile = msgspec.field(default_factory=_Profile)


class _File(msgspec.Struct):
    id: str
    mime_type: str = "application/octet-stream"
    sha256: str | None = None
    filename: str | None = None


_contact = msgspec.json.Decoder(Contact)
_contacts = msgspec.json.Decoder(list[Contact])
_system = msgspec.json.Decoder(_System)
_file = msgspec.json.Decoder(_File)


class Beside:
    """The people whom a webhook lists beside its messages, by the ids that a message has of its writer."""

    def __init__(self, contacts: list[Contact]) -> None:
        self._only = contacts[0] if len(contacts) == 1 else None
        self._by_phone = {_digits(c.wa_id): c for c in reversed(contacts) if c.wa_id is not None}
        self._by_id = {c.user_id: c for c in reversed(contacts) if c.user_id}

    def who(self, written: Written, is_notice: bool) -> Contact:
        """Whose name stands beside it."""
        by_phone = self._by_phone.get(_digits(written.from_)) if written.from_ is not None else None
        found = by_phone or self._by_id.get(written.from_user_id or "")
        if found is None and self._only and written.from_ is None and not is_notice:
            found = self._only if None in (self._only.user_id, written.from_user_id) else None
        return found or Contact()


def _digits(phone: str | float) -> str:
    return str(phone).removeprefix("+")


def contacts(raw: msgspec.Raw) -> Beside:
    """Of the list beside the messages, what can be read."""
    try:
        return Beside(_contacts.decode(raw))
    except UNREADABLE:
        pass  # one of them, perhaps
    return Beside([contact for each in json_parts.listed(raw) if (contact := _read_contact(each)) is not None])


def _read_contact(raw: msgspec.Raw) -> Contact | None:
    try:
        return _contact.decode(raw)
    except UNREADABLE:
        return None


class Receiver(msgspec.Struct, frozen=True):
    """Where messages came to."""

    org: OrgId
    number: NumberId
    times: Times | None
    """Without the times of turns there is no bot, and nothing asks for its answer."""
    now: Instant


def arrival(raw: msgspec.Raw, written: Written, beside: Beside, at: Instant | None, to: Receiver) -> Arrival:
    """Raises Nobody when there is no address to file it under. Without a time of its own it was written now."""
    if written.group_id:
        raise Nobody("a message to a group: groups of WhatsApp are not handled")
    fields = json_parts.fields(raw) if written.type in _TAKEN_APART else {}
    who = beside.who(written, written.type in NOTICES)
    phones, ids = _named(written, who, fields)
    if not phones and not ids:
        raise Nobody("a message that does not say who wrote it")
    kind = plain(written.type)[:40]
    return Arrival(
        org_id=to.org,
        number=to.number,
        wamid=Wamid(written.id),
        addresses=_addresses(phones, ids),
        reply_to=phones[0] if phones else ids[0],
        name=_words(who.profile.name),
        username=_words(who.profile.username),
        at=to.now if at is None else Instant(min(at, to.now)),  # nobody writes in the future
        type=kind,
        body=bytes(raw).decode(),
        asks=to.times is not None and kind not in ASIDES,
        opens_window=at is not None and kind not in (*NOTICES, "edit", "revoke"),
        times=to.times or Times(),
        media=_media(fields.get(kind)) if kind in WITH_FILE else None,
    )


def _addresses(phones: list[str], ids: list[str]) -> tuple[str, ...]:
    """Two forms of one number are one address."""
    return (*dict.fromkeys(f"phone:{people.alias(phone)}" for phone in phones), *(f"user:{id_}" for id_ in ids))


def _named(written: Written, who: Contact, fields: dict[str, msgspec.Raw]) -> tuple[list[str], list[str]]:
    """Everything this person is known by, the newest first: phone numbers, business-scoped user ids."""
    if written.type not in NOTICES or "system" not in fields:
        return _once(_phone, written.from_, who.wa_id), _once(_id, written.from_user_id, who.user_id)
    told = _changed(fields["system"])
    phones = _once(_phone, told.wa_id, told.new_wa_id, written.from_, told.customer, who.wa_id)
    return phones, _once(_id, told.user_id, told.previous_user_id, written.from_user_id, who.user_id)


def _once(read: Callable[[Any], str | None], *given: str | int | None) -> list[str]:
    """Each that can be read, once; most say the same thing twice."""
    found = (read(value) for value in dict.fromkeys(given) if value is not None)
    return [*dict.fromkeys(name for name in found if name)]


def _changed(raw: msgspec.Raw) -> _System:
    try:
        return _system.decode(raw)
    except UNREADABLE:
        return _System()


def _phone(value: str | int | None) -> str | None:
    return recipient.phone(str(value)) if value is not None else None


def _id(value: str | None) -> str | None:
    return plain(value) if value and len(value) <= LONGEST else None


def _words(value: str | None) -> str | None:
    return (plain(value)[:LONGEST].strip() or None) if value else None


def _media(raw: msgspec.Raw | None) -> MediaNote | None:
    try:
        file = _file.decode(raw) if raw is not None else None
    except UNREADABLE:
        return None
    if file is None or not 0 < len(file.id) <= LONGEST:
        return None
    name = _words(file.filename)
    return MediaNote(
        provider_id=plain(file.id), mime_type=plain(file.mime_type)[:100], sha256=_words(file.sha256), filename=name
    )


def sent_file(body: dict[str, Any], kind: str) -> MediaNote | None:
    """A file that the provider has of ours, named in what is sent: its type is the provider's to tell."""
    part = body.get(kind) if kind in WITH_FILE else None
    return _media(msgspec.Raw(msgspec.json.encode(part))) if isinstance(part, dict) else None


def salvaged(raw: msgspec.Raw) -> Written:
    """Of a malformed message, what is well formed; its id must be."""
    fields = json_parts.fields(raw)
    if "id" not in fields:
        raise ValueError("a message without an id")
    written = Written(id=msgspec.json.decode(fields["id"], type=str))
    written.timestamp, written.from_ = json_parts.scalar(fields.get("timestamp")), json_parts.text(fields.get("from"))
    for name in ("from_user_id", "group_id", "type"):
        value = json_parts.text(fields.get(name))
        if value is not None:
            setattr(written, name, value)
    return written
