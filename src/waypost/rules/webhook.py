"""What a webhook POST says, item by item; what cannot be read is kept whole and never loses its neighbours."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from waypost.model.ids import NumberId, OrgId, Wamid
from waypost.model.report import JournalItem, ReportKind, StatusReport
from waypost.model.time import Instant, from_unix
from waypost.rules import recipient, stamp

LARGEST_POST = 3 * 1024 * 1024
_LATEST = 4_102_444_800  # the year 2100: a later timestamp is nonsense


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


class _Status(msgspec.Struct):
    id: str
    status: str
    timestamp: str | int | float
    recipient_id: str = ""
    recipient_participant_id: str = ""
    biz_opaque_callback_data: str | None = None
    errors: list[dict[str, Any]] = []


class _MessageId(msgspec.Struct):
    id: str


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
_message_id = msgspec.json.Decoder(_MessageId)
_KINDS = {kind.value: kind for kind in ReportKind}


def parts(body: bytes) -> list[Part]:
    """The changes of a POST. Raises Unreadable only when it is no JSON object at all."""
    try:
        envelope = _envelope.decode(body)
    except msgspec.ValidationError:
        return _salvaged(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from error
    return [_part(entry, change) for entry in envelope.entry for change in entry.changes]


def _salvaged(body: bytes) -> list[Part]:
    """Of a POST with a malformed part, the parts that are well formed."""
    try:
        outer = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        entries = msgspec.json.decode(outer.get("entry", b"[]"), type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from error
    found: list[Part] = []
    for raw in entries:
        try:
            entry = msgspec.json.decode(raw, type=_Entry)
        except (msgspec.MsgspecError, RecursionError):
            continue
        found.extend(_part(entry, change) for change in entry.changes)
    return found


def _part(entry: _Entry, change: _Change) -> Part:
    try:
        value: _Value | None = _value.decode(change.value)
    except (msgspec.MsgspecError, RecursionError):
        value = None
    number = value.metadata.phone_number_id if value else _number_in(change.value)
    return Part(
        owner=number or entry.id,
        waba_id=entry.id,
        at_account_level=not number,
        field=change.field,
        time=entry.time,
        raw=change.value,
        value=value,
    )


def _number_in(raw: msgspec.Raw) -> str:
    """Whose a malformed value is, if at least that much can be read."""
    try:
        outer = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        return msgspec.json.decode(outer.get("metadata", b"{}"), type=_Metadata).phone_number_id
    except (msgspec.MsgspecError, RecursionError):
        return ""


def reports(part: Part, org: OrgId, number: NumberId) -> tuple[list[StatusReport], list[JournalItem]]:
    """The statuses of a part that is `org`'s, and everything else of it for the journal."""
    if part.value is None or part.at_account_level:
        return [], [_kept(org, number, f"account:{part.field}", part.raw, part.time)]
    told: list[StatusReport] = []
    items: list[JournalItem] = []
    for raw in part.value.statuses:
        status = _read_status(raw, org, number)
        (told if isinstance(status, StatusReport) else items).append(status)  # type: ignore[arg-type]  # each to its own
    items.extend(_read_message(raw, part.value, org, number) for raw in part.value.messages)
    items.extend(_kept(org, number, "error", raw, None) for raw in part.value.errors)
    if part.field != "messages" and not told and not items:
        items.append(_kept(org, number, f"account:{part.field}", part.raw, part.time))
    return told, items


def _read_status(raw: msgspec.Raw, org: OrgId, number: NumberId) -> StatusReport | JournalItem:
    try:
        status = _status.decode(raw)
        at = _moment(status.timestamp)
        body = bytes(raw).decode()
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        return _kept(org, number, "status", raw, None, state="failed", error=str(error))
    kind = _KINDS.get(status.status)
    if kind is None or not status.id:
        return _kept(org, number, "status", raw, None)
    code, message = _error(status.errors)
    return StatusReport(
        org_id=org,
        number=number,
        wamid=Wamid(status.id),
        kind=kind,
        participant=status.recipient_participant_id,
        at=at,
        recipient=recipient.phone(status.recipient_id) or status.recipient_id,
        echo=stamp.read(status.biz_opaque_callback_data),
        error_code=code,
        error_message=message,
        body=body,
    )


def _moment(timestamp: str | float) -> Instant:
    value = float(timestamp)
    if not 0 < value < _LATEST:
        raise ValueError(f"timestamp {timestamp} is no moment of ours")
    return from_unix(value)


def _error(errors: list[dict[str, Any]]) -> tuple[str | None, str | None]:
    if not errors:
        return None, None
    first = errors[0]
    data = first.get("error_data")
    details = data.get("details") if isinstance(data, dict) else data
    words = details or first.get("message") or first.get("title") or ""
    return str(first.get("code", "UNKNOWN")), str(words)[:1000]


def _read_message(raw: msgspec.Raw, value: _Value, org: OrgId, number: NumberId) -> JournalItem:
    try:
        wamid = _message_id.decode(raw).id
    except (msgspec.MsgspecError, RecursionError) as error:
        return _kept(org, number, "message", raw, None, state="failed", error=str(error))
    body = msgspec.json.encode({"message": raw, "contacts": value.contacts}).decode()
    return JournalItem(org_id=org, number=number, kind="message", key=wamid, body=body)


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
        org_id=org, number=number, kind=kind, key=key, body=content.decode("utf-8", "replace"), state=state, error=error
    )


def said(body: str) -> str:
    """What a stored status says beyond its kind: its error and its price, in words."""
    try:
        status = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return ""
    code, words = _error([e for e in status.get("errors") or [] if isinstance(e, dict)])
    pricing = status.get("pricing")
    price = f"{pricing.get('category')}, {pricing.get('type')}" if isinstance(pricing, dict) else ""
    return ", ".join(part for part in (f"{code} {words}" if code else "", price) if part)
