"""The envelope of a webhook POST, taken apart into its changes; of a malformed one, what is well formed."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from waypost.rules.deep_json import shallow
from waypost.rules.json_parts import UNREADABLE, fields, listed, plain, scalar, text

LARGEST_POST = 3 * 1024 * 1024
MOST_UPDATES = 10_000
"""Meta sends at most 1000 in a POST; more than this in one place is not taken apart."""
_ESCAPES = re.compile(
    rb"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""Escapes in JSON: a surrogate pair, a surrogate without its other half, any other."""

_ITEM = 8
"""The level of a message or a status in a POST: {entry: [{changes: [{value: {messages: [{…"""
_ITEM_OF_VALUE = 3


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


def parts(body: bytes) -> list[Part]:
    """The changes of a POST. Raises Unreadable only when it is no JSON object at all."""
    try:
        entries = _mended_entries(body if body.isascii() else _as_utf8(body))
    except (*UNREADABLE, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from error
    if sum(len(entry.changes) for entry in entries) > MOST_UPDATES:
        raise Unreadable(f"more than {MOST_UPDATES} changes")
    return [_part(entry, change) for entry in entries for change in entry.changes]


def _mended_entries(body: bytes) -> list[_Entry]:
    try:
        return _entries(body)
    except (msgspec.DecodeError, RecursionError):
        return _entries(_ESCAPES.sub(_whole, shallow(body, _ITEM)))


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
        entries = msgspec.json.decode(body, type=dict[str, msgspec.Raw]).get("entry")
        return [_salvaged_entry(raw) for raw in _few(listed(entries))]


def _few(items: list[Any]) -> list[Any]:
    """Taking apart costs time, and nobody has shown a signature yet."""
    if len(items) > MOST_UPDATES:
        raise Unreadable(f"more than {MOST_UPDATES} items in a list")
    return items


def _salvaged_entry(raw: msgspec.Raw) -> _Entry:
    """Of a malformed entry, what is well formed."""
    found = fields(raw)
    changes = [_salvaged_change(change) for change in _few(listed(found.get("changes")))]
    time = scalar(found.get("time"))
    return _Entry(text(found.get("id")) or "", time if isinstance(time, int) else None, changes)


def _salvaged_change(raw: msgspec.Raw) -> _Change:
    found = fields(raw)
    field = scalar(found.get("field"))
    return _Change(field if isinstance(field, str) else "", found.get("value", raw))


def _part(entry: _Entry, change: _Change) -> Part:
    value = _read_value(change.value)
    number = value.metadata.phone_number_id if value else ""
    return Part(
        owner=number or entry.id,
        waba_id=entry.id,
        at_account_level=not number,
        field=plain(change.field)[:100],
        time=entry.time,
        raw=change.value,
        value=value,
    )


def _read_value(raw: msgspec.Raw) -> _Value | None:
    try:
        return _value.decode(raw)
    except RecursionError:  # further in, a parser gets less deep
        return _salvaged_value(msgspec.Raw(shallow(bytes(raw), _ITEM_OF_VALUE)))
    except msgspec.MsgspecError:
        return _salvaged_value(raw)


def _salvaged_value(raw: msgspec.Raw) -> _Value | None:
    """Of a malformed value, the lists that can be read; whose it is, if at least that much can be."""
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
