"""What a webhook POST says, item by item; what cannot be read is kept whole and never loses its neighbours."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from waypost.model.conversation import Arrival, Times
from waypost.model.ids import NumberId, OrgId, Wamid
from waypost.model.money import Pricing
from waypost.model.report import JournalItem, ReportKind, StatusReport
from waypost.model.time import Instant, from_unix
from waypost.rules import inbound, price, recipient, stamp
from waypost.rules.price import Prices
from waypost.rules.redact import redact

LARGEST_POST = 3 * 1024 * 1024
MOST_UPDATES = 10_000
"""Meta sends at most 1000 in a POST; more than this in one place is not taken apart."""
LONGEST_NAME = 255
"""Of whatever becomes part of a key: ids, participants, recipients."""
_LATEST = 4_102_444_800  # the year 2100: a later timestamp is nonsense
_UNREADABLE = (msgspec.MsgspecError, RecursionError)
_ESCAPES = re.compile(
    rb"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""Escapes in JSON: a surrogate pair, a surrogate without its other half, any other."""


class Unreadable(Exception):
    """Not a JSON object."""


class _Metadata(msgspec.Struct):
    phone_number_id: str = ""


class _Value(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    statuses: list[msgspec.Raw] = []
    messages: list[msgspec.Raw] = []
    errors: list[msgspec.Raw] = []
    contacts: msgspec.Raw = msgspec.Raw(b"[]")


class _Change(msgspec.Struct):
    field: str = ""
    value: msgspec.Raw = msgspec.Raw(b"null")


class _Entry(msgspec.Struct):
    id: str = ""
    time: int | None = None
    changes: list[_Change] = []


class _Envelope(msgspec.Struct):
    entry: list[_Entry] = []


class _Pricing(msgspec.Struct):
    pricing_model: str = ""
    type: str = ""
    category: str = ""
    billable: bool | None = None


class _Status(msgspec.Struct):
    id: str
    status: str
    timestamp: str | int | float
    recipient_id: str = ""
    recipient_user_id: str = ""
    """Alone, where the message went to a user id."""
    recipient_participant_id: str = ""
    biz_opaque_callback_data: str | None = None
    errors: list[dict[str, Any]] = []
    pricing: _Pricing | None = None


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a POST and whose it is."""

    owner: str
    """A phone_number_id, or at account level the business account's id."""
    waba_id: str
    at_account_level: bool
    field: str
    time: int | None
    raw: msgspec.Raw
    value: _Value | None
    """None when it is not of the shape that carries messages and statuses."""


_envelope = msgspec.json.Decoder(_Envelope)
_value = msgspec.json.Decoder(_Value)
_status = msgspec.json.Decoder(_Status)
_written = msgspec.json.Decoder(inbound.Written)
_CHARGED = (ReportKind.DELIVERED, ReportKind.READ)
"""What says that a message arrived: only then the provider charges for it."""
_KINDS = {kind.value: kind for kind in ReportKind}


def parts(body: bytes) -> list[Part]:
    """The changes of a POST. Raises Unreadable only when it is no JSON object at all."""
    text = body if body.isascii() else _as_utf8(body)
    try:
        entries = _entries(text)
    except msgspec.DecodeError:
        mended = _ESCAPES.sub(_whole, text)
        try:
            entries = _entries(mended)
        except (*_UNREADABLE, UnicodeDecodeError) as error:
            raise Unreadable(str(error)) from error
    except (*_UNREADABLE, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from error
    if sum(len(entry.changes) for entry in entries) > MOST_UPDATES:
        raise Unreadable(f"more than {MOST_UPDATES} changes")
    return [_part(entry, change) for entry in entries for change in entry.changes]


def _as_utf8(body: bytes) -> bytes:
    """Bytes that are no UTF-8 become the sign for that, so that the rest can be read."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace").encode()
    return body


def _whole(escape: re.Match[bytes]) -> bytes:
    """Half an emoji is the sign for what cannot be read; every other escape stays."""
    return rb"\ufffd" if escape[2] else escape[0]


def _entries(body: bytes) -> list[_Entry]:
    try:
        return _envelope.decode(body).entry
    except msgspec.ValidationError:
        return [_salvaged_entry(raw) for raw in _few(_listed(_fields(msgspec.Raw(body)).get("entry")))]


def _few(items: list[Any]) -> list[Any]:
    """Taking apart costs time, and nobody has shown a signature yet."""
    if len(items) > MOST_UPDATES:
        raise Unreadable(f"more than {MOST_UPDATES} items in a list")
    return items


def _salvaged_entry(raw: msgspec.Raw) -> _Entry:
    """Of a malformed entry, what is well formed."""
    fields = _try_fields(raw)
    changes = [_salvaged_change(change) for change in _few(_listed(fields.get("changes")))]
    time = _scalar(fields.get("time"))
    return _Entry(str(_scalar(fields.get("id")) or ""), time if isinstance(time, int) else None, changes)


def _salvaged_change(raw: msgspec.Raw) -> _Change:
    fields = _try_fields(raw)
    field = _scalar(fields.get("field"))
    return _Change(field if isinstance(field, str) else "", fields.get("value", raw))


def _fields(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    return msgspec.json.decode(raw, type=dict[str, msgspec.Raw])


def _try_fields(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        return _fields(raw)
    except _UNREADABLE:
        return {}


def _listed(raw: msgspec.Raw | None) -> list[msgspec.Raw]:
    """The items of a list; what should be a list and is none is its own only item, so that it is not lost."""
    if raw is None or bytes(raw) == b"null":
        return []
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw])
    except _UNREADABLE:
        return [raw]


def _scalar(raw: msgspec.Raw | None) -> str | int | None:
    try:
        return msgspec.json.decode(raw, type=str | int) if raw is not None else None
    except _UNREADABLE:
        return None


def _part(entry: _Entry, change: _Change) -> Part:
    try:
        value: _Value | None = _value.decode(change.value)
    except _UNREADABLE:
        value = _salvaged_value(change.value)
    number = value.metadata.phone_number_id if value else ""
    return Part(
        owner=number or entry.id,
        waba_id=entry.id,
        at_account_level=not number,
        field=_plain(change.field)[:100],
        time=entry.time,
        raw=change.value,
        value=value,
    )


def _salvaged_value(raw: msgspec.Raw) -> _Value | None:
    """Of a malformed value, the lists that can be read; whose it is, if at least that much can be."""
    fields = _try_fields(raw)
    metadata = _try_fields(fields.get("metadata", msgspec.Raw(b"{}")))
    number = _scalar(metadata.get("phone_number_id"))
    if not number:
        return None
    return _Value(
        _Metadata(str(number)),
        _listed(fields.get("statuses")),
        _listed(fields.get("messages")),
        _listed(fields.get("errors")),
        fields.get("contacts", msgspec.Raw(b"[]")),
    )


class Read(msgspec.Struct, frozen=True):
    """What one part says."""

    reports: list[StatusReport]
    arrivals: list[Arrival]
    items: list[JournalItem]
    """Everything else, for the journal."""


def read(
    part: Part, org: OrgId, number: NumberId, now: Instant, times: Times | None = None, prices: Prices | None = None
) -> Read:
    """A part that is `org`'s, at its prices and with the times of its turns; None where no bot answers."""
    value = part.value
    if value is None or part.at_account_level:
        return Read([], [], [_kept(org, number, f"account:{part.field}", part.raw, part.time)])
    if len(value.statuses) + len(value.messages) + len(value.errors) > MOST_UPDATES:
        too_many = f"more than {MOST_UPDATES} updates in one place"
        return Read([], [], [_kept(org, number, f"account:{part.field}", part.raw, part.time, "failed", too_many)])
    statuses = [_read_status(raw, org, number, prices) for raw in value.statuses]
    beside = inbound.contacts(value.contacts) if value.messages else inbound.Beside([])
    said = [_read_message(raw, beside, org, number, times, now) for raw in value.messages]
    told = [status for status in statuses if isinstance(status, StatusReport)]
    arrivals = [message for message in said if isinstance(message, Arrival)]
    items = [kept for kept in [*statuses, *said] if isinstance(kept, JournalItem)]
    items.extend(_kept(org, number, "error", raw, None) for raw in value.errors)
    if not (told or arrivals or items):  # of a kind that did not exist when this was written
        items.append(_kept(org, number, f"account:{part.field}", part.raw, part.time))
    return Read(told, arrivals, items)


def _read_status(raw: msgspec.Raw, org: OrgId, number: NumberId, prices: Prices | None) -> StatusReport | JournalItem:
    try:
        status = _decoded_status(raw)
        at = _moment(status.timestamp)
        wamid, participant, to = (
            _name(text)
            for text in (status.id, status.recipient_participant_id, status.recipient_id or status.recipient_user_id)
        )
    except (*_UNREADABLE, ValueError, OverflowError) as error:
        return _kept(org, number, "status", raw, None, "failed", str(error))
    kind = _KINDS.get(status.status)
    if kind is None or not wamid:
        return _kept(org, number, "status", raw, None, "kept")
    code, message = _error(status.errors)
    to = recipient.phone(to) or to
    pricing = _priced(status.pricing) if status.pricing else None
    return StatusReport(
        org_id=org,
        number=number,
        wamid=Wamid(wamid),
        kind=kind,
        participant=participant,
        at=at,
        recipient=to,
        echo=stamp.read(status.biz_opaque_callback_data),
        error_code=code,
        error_message=message,
        body=bytes(raw).decode(),
        pricing=pricing,
        charge=price.charge(pricing, to, prices) if pricing and kind in _CHARGED else None,
    )


def _priced(told: _Pricing) -> Pricing:
    model, kind, category = (_plain(text)[:40] for text in (told.pricing_model, told.type, told.category))
    return Pricing(model, kind, category, told.billable)


def _decoded_status(raw: msgspec.Raw) -> _Status:
    try:
        return _status.decode(raw)
    except msgspec.ValidationError:
        return _salvaged_status(raw)


def _salvaged_status(raw: msgspec.Raw) -> _Status:
    """Which message, what and when must be there; a malformed rest is left out."""
    fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    needed = {name: fields[name] for name in ("id", "status", "timestamp") if name in fields}
    status = _status.decode(msgspec.json.encode(needed))
    for name in ("recipient_id", "recipient_user_id", "recipient_participant_id", "biz_opaque_callback_data"):
        text = _scalar(fields.get(name))
        if text is not None:
            setattr(status, name, str(text))
    status.errors = [error for each in _listed(fields.get("errors")) if (error := _object(each))]
    return status


def _object(raw: msgspec.Raw) -> dict[str, Any]:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except _UNREADABLE:
        return {}


def _name(text: str) -> str:
    """What becomes part of a key: no database can be made to stumble over it."""
    if len(text) > LONGEST_NAME:
        raise ValueError(f"a name of {len(text)} characters")
    return _plain(text)


def _plain(text: str) -> str:
    """PostgreSQL keeps every character but one."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


def _moment(timestamp: str | float) -> Instant:
    value = float(timestamp)
    if not 0 < value < _LATEST:
        raise ValueError(f"timestamp {str(timestamp)[:40]} is no moment of ours")
    return from_unix(value)


def _error(errors: list[dict[str, Any]]) -> tuple[str | None, str | None]:
    if not errors:
        return None, None
    first = errors[0]
    data = first.get("error_data")
    details = data.get("details") if isinstance(data, dict) else data
    words = details or first.get("message") or first.get("title") or ""
    return _plain(str(first.get("code", "UNKNOWN")))[:64], redact(_plain(str(words)))[:1000]


def _read_message(
    raw: msgspec.Raw, beside: inbound.Beside, org: OrgId, number: NumberId, times: Times | None, now: Instant
) -> Arrival | JournalItem:
    try:
        written = _decoded_message(raw)
        written.id = _name(written.id)
        if not written.id:
            raise ValueError("a message without an id")
        return inbound.arrival(raw, written, beside, org, number, times, _moment_of(written), now)
    except inbound.Nobody as nobody:
        return _kept(org, number, "message", raw, None, "failed", str(nobody))
    except (*_UNREADABLE, ValueError) as error:
        return _kept(org, number, "message", raw, None, "failed", str(error))


def _decoded_message(raw: msgspec.Raw) -> inbound.Written:
    try:
        return _written.decode(raw)
    except msgspec.ValidationError:
        return inbound.salvaged(raw)


def _moment_of(written: inbound.Written) -> Instant | None:
    try:
        return _moment(written.timestamp) if written.timestamp is not None else None
    except (ValueError, OverflowError):
        return None


def _kept(
    org: OrgId,
    number: NumberId,
    kind: str,
    raw: msgspec.Raw,
    time: int | None,
    state: str = "pending",
    error: str | None = None,
) -> JournalItem:
    """Whole, as it came; the same content at the same time is the same item."""
    content = bytes(raw)
    key = hashlib.sha256(content + str(time or "").encode()).hexdigest()
    return JournalItem(
        org_id=org,
        number=number,
        kind=kind,
        key=key,
        body=content.decode("utf-8", "replace"),
        state=state,
        error=None if error is None else _plain(error)[:500],
        told_at=from_unix(time) if time is not None and 0 < time < _LATEST else None,
    )


def said(body: str) -> str:
    """What a stored status says beyond its kind: its error and its price, in words."""
    try:
        status = msgspec.json.decode(body, type=dict[str, Any])
    except _UNREADABLE:
        return ""
    errors = status.get("errors")
    code, words = _error([e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else [])
    pricing = status.get("pricing")
    price = f"{pricing.get('category')}, {pricing.get('type')}" if isinstance(pricing, dict) else ""
    return ", ".join(part for part in (f"{code} {words}" if code else "", price) if part)
