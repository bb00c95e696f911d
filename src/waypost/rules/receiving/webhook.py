"""Parsing of a webhook change into items; an unreadable item is stored whole and does not affect others."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from waypost.model.conversation import InboundMessage, TurnTiming
from waypost.model.ids import NumberId, OrgId, Wamid
from waypost.model.money import Pricing
from waypost.model.time import Instant, from_unix
from waypost.model.webhook import JournalItem, StatusKind, StatusUpdate
from waypost.rules.content import recipient
from waypost.rules.limits import price
from waypost.rules.limits.price import Prices
from waypost.rules.receiving import inbound
from waypost.rules.receiving.envelope import MOST_UPDATES, WebhookChange
from waypost.rules.sending import callback_data
from waypost.rules.text import json_parts
from waypost.rules.text.json_parts import LONGEST, UNREADABLE, plain
from waypost.rules.text.redact import redact

_LATEST = 4_102_444_800  # the year 2100: a later timestamp is invalid


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
    """Set instead of recipient_id if the message went to a user id."""
    recipient_participant_id: str = ""
    biz_opaque_callback_data: str | None = None
    errors: list[dict[str, Any]] = []
    pricing: _Pricing | None = None


_status = msgspec.json.Decoder(_Status)
_written = msgspec.json.Decoder(inbound.WebhookMessage)
_CHARGED = (StatusKind.DELIVERED, StatusKind.READ)
"""Statuses that confirm delivery; the provider charges only for delivered messages."""
_KINDS = {kind.value: kind for kind in StatusKind}


class WebhookItems(msgspec.Struct, frozen=True):
    """The items of one change."""

    statuses: list[StatusUpdate]
    inbound: list[InboundMessage]
    items: list[JournalItem]
    """Everything else, for the journal."""


def read(
    part: WebhookChange,
    org: OrgId,
    number: NumberId,
    now: Instant,
    times: TurnTiming | None = None,
    prices: Prices | None = None,
) -> WebhookItems:
    """The items of a change that belongs to `org`; `times` is None without a bot."""
    value = part.value
    if value is None or part.at_account_level:
        return WebhookItems([], [], [_kept(org, number, f"account:{part.field}", part.raw, part.time)])
    if len(value.statuses) + len(value.messages) + len(value.errors) > MOST_UPDATES:
        too_many = f"more than {MOST_UPDATES} updates in one place"
        return WebhookItems(
            [], [], [_kept(org, number, f"account:{part.field}", part.raw, part.time, "failed", too_many)]
        )
    statuses = [_read_status(raw, org, number, prices) for raw in value.statuses]
    beside = inbound.contacts(value.contacts) if value.messages else inbound.WebhookContacts([])
    to = inbound.InboundTarget(org, number, times, now)
    messages = [_read_message(raw, beside, to) for raw in value.messages]
    updates = [status for status in statuses if isinstance(status, StatusUpdate)]
    inbound_messages = [message for message in messages if isinstance(message, InboundMessage)]
    items = [kept for kept in [*statuses, *messages] if isinstance(kept, JournalItem)]
    items.extend(_kept(org, number, "error", raw, None) for raw in value.errors)
    if not (updates or inbound_messages or items):  # of an unknown kind
        items.append(_kept(org, number, f"account:{part.field}", part.raw, part.time))
    return WebhookItems(updates, inbound_messages, items)


def _read_status(raw: msgspec.Raw, org: OrgId, number: NumberId, prices: Prices | None) -> StatusUpdate | JournalItem:
    try:
        status = _decoded_status(raw)
        at = _moment(status.timestamp)
        wamid, participant = _name(status.id), _name(status.recipient_participant_id)
        to = _name(status.recipient_id or status.recipient_user_id)
    except (*UNREADABLE, ValueError, OverflowError) as error:
        return _kept(org, number, "status", raw, None, "failed", str(error))
    kind = _KINDS.get(status.status)
    if kind is None or not wamid:
        return _kept(org, number, "status", raw, None, "kept")
    code, message = _error(status.errors)
    to = recipient.phone(to) or to
    pricing = _priced(status.pricing) if status.pricing else None
    return StatusUpdate(
        org_id=org,
        number=number,
        wamid=Wamid(wamid),
        kind=kind,
        participant=participant,
        at=at,
        recipient=to,
        echo=callback_data.read(status.biz_opaque_callback_data),
        error_code=code,
        error_message=message,
        body=bytes(raw).decode(),
        pricing=pricing,
        charge=price.charge(pricing, to, prices) if pricing and kind in _CHARGED else None,
    )


def _priced(given: _Pricing) -> Pricing:
    model, kind, category = (plain(text)[:40] for text in (given.pricing_model, given.type, given.category))
    return Pricing(model, kind, category, given.billable)


def _decoded_status(raw: msgspec.Raw) -> _Status:
    try:
        return _status.decode(raw)
    except msgspec.ValidationError:
        return _salvaged_status(raw)


def _salvaged_status(raw: msgspec.Raw) -> _Status:
    """Id, status and timestamp are required; other malformed fields are left out."""
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
    """A text that is safe as part of a database key."""
    if len(text) > LONGEST:
        raise ValueError(f"an id of {len(text)} characters is too long")
    return plain(text)


def _moment(timestamp: str | float) -> Instant:
    value = float(timestamp)
    if not 0 < value < _LATEST:
        raise ValueError(f"timestamp {str(timestamp)[:40]} is out of range")
    return from_unix(value)


def _error(errors: list[dict[str, Any]]) -> tuple[str | None, str | None]:
    if not errors:
        return None, None
    first = errors[0]
    data = first.get("error_data")
    details = data.get("details") if isinstance(data, dict) else data
    words = details or first.get("message") or first.get("title") or ""
    return plain(str(first.get("code", "UNKNOWN")))[:64], redact(plain(str(words)))[:1000]


def _read_message(
    raw: msgspec.Raw, beside: inbound.WebhookContacts, to: inbound.InboundTarget
) -> InboundMessage | JournalItem:
    try:
        written = _decoded_message(raw)
        written.id = _name(written.id)
        if not written.id:
            raise ValueError("a message without an id")
        return inbound.inbound_message(raw, written, beside, _moment_of(written), to)
    except (*UNREADABLE, ValueError, inbound.NoSender) as error:
        return _kept(to.org, to.number, "message", raw, None, "failed", str(error))


def _decoded_message(raw: msgspec.Raw) -> inbound.WebhookMessage:
    try:
        return _written.decode(raw)
    except msgspec.ValidationError:
        return inbound.salvaged(raw)


def _moment_of(written: inbound.WebhookMessage) -> Instant | None:
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
    """The item as received; equal content at the same time gives the same key."""
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


def status_details(body: str) -> str:
    """The error and price of a stored status, as text."""
    status = json_parts.whole(body)
    errors = status.get("errors")
    code, words = _error([e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else [])
    pricing = status.get("pricing")
    price = f"{pricing.get('category')}, {pricing.get('type')}" if isinstance(pricing, dict) else ""
    return ", ".join(part for part in (f"{code} {words}" if code else "", price) if part)
