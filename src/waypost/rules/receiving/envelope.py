"""Parsing of a webhook POST into its changes; from a malformed POST, the well-formed parts."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from waypost.rules.text.deep_json import shallow
from waypost.rules.text.json_parts import UNREADABLE, fields, listed, plain, scalar, text

LARGEST_POST = 3 * 1024 * 1024
MOST_UPDATES = 10_000
"""Meta sends at most 1000 per POST; a longer list than this is not parsed."""
_ESCAPES = re.compile(
    rb"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""JSON escapes: a surrogate pair, an unpaired surrogate, any other."""

_ITEM = 8
"""The nesting level of a message or status in a POST: {entry: [{changes: [{value: {messages: [{…"""
_ITEM_OF_VALUE = 3


class UnreadableWebhook(Exception):
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


class WebhookChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a POST and its owner."""

    owner: str
    """A phone_number_id, or the business account's id at account level."""
    waba_id: str
    at_account_level: bool
    field: str
    time: int | None
    raw: msgspec.Raw
    value: _Value | None
    """None if it does not have the form of messages and statuses."""


_envelope = msgspec.json.Decoder(_Envelope)
_value = msgspec.json.Decoder(_Value)


def parts(body: bytes) -> list[WebhookChange]:
    """The changes of a POST. Raises UnreadableWebhook if it is not a JSON object, or has too many items."""
    try:
        entries = _mended_entries(body if body.isascii() else _as_utf8(body))
    except (*UNREADABLE, UnicodeDecodeError) as error:
        raise UnreadableWebhook(str(error)) from error
    if sum(len(entry.changes) for entry in entries) > MOST_UPDATES:
        raise UnreadableWebhook(f"more than {MOST_UPDATES} changes")
    return [_part(entry, change) for entry in entries for change in entry.changes]


def _mended_entries(body: bytes) -> list[_Entry]:
    try:
        return _entries(body)
    except (msgspec.DecodeError, RecursionError):
        return _entries(_ESCAPES.sub(_whole, shallow(body, _ITEM)))


def _as_utf8(body: bytes) -> bytes:
    """Replace invalid UTF-8 with U+FFFD, so that the rest can be parsed."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace").encode()
    return body


def _whole(escape: re.Match[bytes]) -> bytes:
    """Replace an unpaired surrogate with U+FFFD; keep every other escape."""
    return rb"\ufffd" if escape[2] else escape[0]


def _entries(body: bytes) -> list[_Entry]:
    try:
        return _envelope.decode(body).entry
    except msgspec.ValidationError:
        entries = msgspec.json.decode(body, type=dict[str, msgspec.Raw]).get("entry")
        return [_salvaged_entry(raw) for raw in _few(listed(entries))]


def _few(items: list[Any]) -> list[Any]:
    """Limits the work before the signature is checked."""
    if len(items) > MOST_UPDATES:
        raise UnreadableWebhook(f"more than {MOST_UPDATES} items in a list")
    return items


def _salvaged_entry(raw: msgspec.Raw) -> _Entry:
    """The well-formed parts of a malformed entry."""
    found = fields(raw)
    changes = [_salvaged_change(change) for change in _few(listed(found.get("changes")))]
    time = scalar(found.get("time"))
    return _Entry(text(found.get("id")) or "", time if isinstance(time, int) else None, changes)


def _salvaged_change(raw: msgspec.Raw) -> _Change:
    found = fields(raw)
    field = scalar(found.get("field"))
    return _Change(field if isinstance(field, str) else "", found.get("value", raw))


def _part(entry: _Entry, change: _Change) -> WebhookChange:
    value = _read_value(change.value)
    number = plain(value.metadata.phone_number_id) if value else ""
    account = plain(entry.id)
    return WebhookChange(
        owner=number or account,
        waba_id=account,
        at_account_level=not number,
        field=plain(change.field)[:100],
        time=entry.time,
        raw=change.value,
        value=value,
    )


def _read_value(raw: msgspec.Raw) -> _Value | None:
    try:
        return _value.decode(raw)
    except RecursionError:  # nested inside, the parser reaches less depth
        return _salvaged_value(msgspec.Raw(shallow(bytes(raw), _ITEM_OF_VALUE)))
    except msgspec.MsgspecError:
        return _salvaged_value(raw)


def _salvaged_value(raw: msgspec.Raw) -> _Value | None:
    """The readable lists of a malformed value; None if it does not name its number."""
    found = fields(raw)
    metadata = fields(found.get("metadata", msgspec.Raw(b"{}")))
    number = text(metadata.get("phone_number_id"))
    if not number:
        return None
    return _Value(
        _Metadata(number),
        listed(found.get("statuses")),
        listed(found.get("messages")),
        listed(found.get("errors")),
        found.get("contacts", msgspec.Raw(b"[]")),
    )
