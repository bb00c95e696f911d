"""What a webhook POST says, item by item; what cannot be read is kept whole and never loses its neighbours."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from waypost.model.conversation import Arrival, Times
from waypost.model.ids import NumberId, OrgId, Wamid
from waypost.model.money import Pricing
from waypost.model.report import JournalItem, ReportKind, StatusReport
from waypost.model.time import Instant, from_unix
from waypost.rules import inbound, json_parts, price, recipient, stamp
from waypost.rules.envelope import MOST_UPDATES, Part
from waypost.rules.json_parts import LONGEST, UNREADABLE, plain
from waypost.rules.price import Prices
from waypost.rules.redact import redact

_LATEST = 4_102_444_800  # the year 2100: a later timestamp is nonsense


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


_status = msgspec.json.Decoder(_Status)
_written = msgspec.json.Decoder(inbound.Written)
_CHARGED = (ReportKind.DELIVERED, ReportKind.READ)
"""What says that a message arrived: only then the provider charges for it."""
_KINDS = {kind.value: kind for kind in ReportKind}


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
    to = inbound.Receiver(org, number, times, now)
    said = [_read_message(raw, beside, to) for raw in value.messages]
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
    except (*UNREADABLE, ValueError, OverflowError) as error:
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
    model, kind, category = (plain(text)[:40] for text in (told.pricing_model, told.type, told.category))
    return Pricing(model, kind, category, told.billable)


def _decoded_status(raw: msgspec.Raw) -> _Status:
    try:
        return _status.decode(raw)
    except msgspec.ValidationError:
        return _salvaged_status(raw)


def _salvaged_status(raw: msgspec.Raw) -> _Status:
    """Which message, what and when must be there; a malformed rest is left out."""
    fields = json_parts.fields(raw)
    needed = {name: fields[name] for name in ("id", "status", "timestamp") if name in fields}
    status = _status.decode(msgspec.json.encode(needed))
    for name in ("recipient_id", "recipient_user_id", "recipient_participant_id", "biz_opaque_callback_data"):
        text = json_parts.text(fields.get(name))
        if text is not None:
            setattr(status, name, text)
    errors = (json_parts.whole(bytes(each).decode()) for each in json_parts.listed(fields.get("errors")))
    status.errors = [error for error in errors if error]
    return status


def _name(text: str) -> str:
    """What becomes part of a key: no database can be made to stumble over it."""
    if len(text) > LONGEST:
        raise ValueError(f"a name of {len(text)} characters")
    return plain(text)


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
    return plain(str(first.get("code", "UNKNOWN")))[:64], redact(plain(str(words)))[:1000]


def _read_message(raw: msgspec.Raw, beside: inbound.Beside, to: inbound.Receiver) -> Arrival | JournalItem:
    try:
        written = _decoded_message(raw)
        written.id = _name(written.id)
        if not written.id:
            raise ValueError("a message without an id")
        return inbound.arrival(raw, written, beside, _moment_of(written), to)
    except (*UNREADABLE, ValueError, inbound.Nobody) as error:
        return _kept(to.org, to.number, "message", raw, None, "failed", str(error))


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
        error=None if error is None else plain(error)[:500],
        told_at=from_unix(time) if time is not None and 0 < time < _LATEST else None,
    )


def said(body: str) -> str:
    """What a stored status says beyond its kind: its error and its price, in words."""
    status = json_parts.whole(body)
    errors = status.get("errors")
    code, words = _error([e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else [])
    pricing = status.get("pricing")
    price = f"{pricing.get('category')}, {pricing.get('type')}" if isinstance(pricing, dict) else ""
    return ", ".join(part for part in (f"{code} {words}" if code else "", price) if part)
