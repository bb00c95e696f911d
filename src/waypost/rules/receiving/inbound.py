"""Parsing of a customer's message: sender, time and whether it needs an answer; the body is stored unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from waypost.model.conversation import InboundMessage, MediaReference, TurnTiming
from waypost.model.ids import NumberId, OrgId, Wamid
from waypost.model.time import Instant
from waypost.rules.content import recipient
from waypost.rules.conversations import phone_forms
from waypost.rules.text import json_parts
from waypost.rules.text.json_parts import LONGEST, UNREADABLE, plain

SYSTEM_TYPES = ("system",)
"""System messages of Meta, such as a changed phone number."""
CORRECTIONS = ("edit", "revoke")
ASIDES = ("reaction", *CORRECTIONS, *SYSTEM_TYPES)
"""Messages that need no answer."""
WITH_FILE = ("image", "video", "audio", "document", "sticker")
_TAKEN_APART = (*SYSTEM_TYPES, *WITH_FILE)


class NoSender(Exception):
    """The message names no sender that we can answer."""


class _System(msgspec.Struct):
    wa_id: str | int | None = None
    new_wa_id: str | int | None = None
    user_id: str | None = None
    previous_user_id: str | None = None
    customer: str | int | None = None


class WebhookMessage(msgspec.Struct):
    id: str
    timestamp: str | int | float | None = None
    from_: str | int | None = msgspec.field(default=None, name="from")
    from_user_id: str | None = None
    group_id: str | None = None
    type: str = "unknown"


class _Profile(msgspec.Struct):
    name: str | None = None
    username: str | None = None


class WebhookContact(msgspec.Struct):
    wa_id: str | int | None = None
    user_id: str | None = None
    profile: _Profile = msgspec.field(default_factory=_Profile)


class _File(msgspec.Struct):
    id: str
    mime_type: str = "application/octet-stream"
    sha256: str | None = None
    filename: str | None = None


_contact = msgspec.json.Decoder(WebhookContact)
_contacts = msgspec.json.Decoder(list[WebhookContact])
_system = msgspec.json.Decoder(_System)
_file = msgspec.json.Decoder(_File)


class WebhookContacts:
    """The contacts listed beside the messages of a webhook, by phone and user id."""

    def __init__(self, contacts: list[WebhookContact]) -> None:
        self._only = contacts[0] if len(contacts) == 1 else None
        self._by_phone = {_digits(c.wa_id): c for c in reversed(contacts) if c.wa_id is not None}
        self._by_id = {c.user_id: c for c in reversed(contacts) if c.user_id}

    def writer(self, written: WebhookMessage, is_system: bool) -> WebhookContact:
        """The listed contact that wrote the message, or an empty one."""
        by_phone = self._by_phone.get(_digits(written.from_)) if written.from_ is not None else None
        found = by_phone or self._by_id.get(written.from_user_id or "")
        if found is None and self._only and written.from_ is None and not is_system:
            found = self._only if None in (self._only.user_id, written.from_user_id) else None
        return found or WebhookContact()


def _digits(phone: str | float) -> str:
    return str(phone).removeprefix("+")


def contacts(raw: msgspec.Raw) -> WebhookContacts:
    """The readable contacts of the list."""
    try:
        return WebhookContacts(_contacts.decode(raw))
    except UNREADABLE:
        pass  # perhaps only one of them is malformed
    return WebhookContacts([contact for each in json_parts.listed(raw) if (contact := _read_contact(each)) is not None])


def _read_contact(raw: msgspec.Raw) -> WebhookContact | None:
    try:
        return _contact.decode(raw)
    except UNREADABLE:
        return None


class InboundTarget(msgspec.Struct, frozen=True):
    """The receiver of the messages."""

    org: OrgId
    number: NumberId
    times: TurnTiming | None
    """None without a bot: then no message needs its answer."""
    now: Instant


def inbound_message(
    raw: msgspec.Raw, written: WebhookMessage, beside: WebhookContacts, at: Instant | None, to: InboundTarget
) -> InboundMessage:
    """Raises NoSender if it has no address. A message without a timestamp counts as written now."""
    if written.group_id:
        raise NoSender("a message to a group: groups of WhatsApp are not handled")
    fields = json_parts.fields(raw) if written.type in _TAKEN_APART else {}
    contact = beside.writer(written, written.type in SYSTEM_TYPES)
    phones, ids = _named(written, contact, fields)
    if not phones and not ids:
        raise NoSender("a message that does not say who wrote it")
    kind = plain(written.type)[:40]
    return InboundMessage(
        org_id=to.org,
        number=to.number,
        wamid=Wamid(written.id),
        addresses=_addresses(phones, ids),
        reply_to=phones[0] if phones else ids[0],
        name=_words(contact.profile.name),
        username=_words(contact.profile.username),
        at=to.now if at is None else Instant(min(at, to.now)),  # never in the future
        type=kind,
        body=bytes(raw).decode(),
        asks=to.times is not None and kind not in ASIDES,
        opens_window=at is not None and kind not in (*SYSTEM_TYPES, "edit", "revoke"),
        times=to.times or TurnTiming(),
        media=_media(fields.get(kind)) if kind in WITH_FILE else None,
    )


def _addresses(phones: list[str], ids: list[str]) -> tuple[str, ...]:
    """Both forms of a number give one address."""
    return (*dict.fromkeys(f"phone:{phone_forms.alias(phone)}" for phone in phones), *(f"user:{id_}" for id_ in ids))


def _named(
    written: WebhookMessage, contact: WebhookContact, fields: dict[str, msgspec.Raw]
) -> tuple[list[str], list[str]]:
    """The sender's phone numbers and business-scoped user ids, newest first."""
    if written.type not in SYSTEM_TYPES or "system" not in fields:
        return _once(_phone, written.from_, contact.wa_id), _once(_id, written.from_user_id, contact.user_id)
    system = _changed(fields["system"])
    phones = _once(_phone, system.wa_id, system.new_wa_id, written.from_, system.customer, contact.wa_id)
    return phones, _once(_id, system.user_id, system.previous_user_id, written.from_user_id, contact.user_id)


def _once(read: Callable[[Any], str | None], *given: str | int | None) -> list[str]:
    """Each readable value once."""
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


def _media(raw: msgspec.Raw | None) -> MediaReference | None:
    try:
        file = _file.decode(raw) if raw is not None else None
    except UNREADABLE:
        return None
    if file is None or not 0 < len(file.id) <= LONGEST:
        return None
    name = _words(file.filename)
    return MediaReference(
        provider_id=plain(file.id), mime_type=plain(file.mime_type)[:100], sha256=_words(file.sha256), filename=name
    )


def sent_file(body: dict[str, Any], kind: str) -> MediaReference | None:
    """The uploaded file in an outbound message; the provider supplies its type later."""
    part = body.get(kind) if kind in WITH_FILE else None
    return _media(msgspec.Raw(msgspec.json.encode(part))) if isinstance(part, dict) else None


def salvaged(raw: msgspec.Raw) -> WebhookMessage:
    """The well-formed fields of a malformed message; raises ValueError without an id."""
    fields = json_parts.fields(raw)
    if "id" not in fields:
        raise ValueError("a message without an id")
    written = WebhookMessage(id=msgspec.json.decode(fields["id"], type=str))
    written.timestamp, written.from_ = json_parts.scalar(fields.get("timestamp")), json_parts.text(fields.get("from"))
    for name in ("from_user_id", "group_id", "type"):
        value = json_parts.text(fields.get(name))
        if value is not None:
            setattr(written, name, value)
    return written
