"""What a provider call led to, as the provider told it or failed to."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from waypost.model.ids import Wamid


class Accepted(msgspec.Struct, frozen=True, tag=True):
    wamid: Wamid
    response: str


class Rejected(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """An error body of the Graph API: the catalogue decides what it means."""

    code: str
    message: str
    subcode: int | None = None
    details: str | None
    trace: str | None
    retry_after: float | None
    response: str


class Unreached(msgspec.Struct, frozen=True, tag=True):
    """No connection was made, so the provider cannot have the message: a failed try."""

    reason: str


class Unsure(msgspec.Struct, frozen=True, tag=True):
    """The request may have left and no Graph answer came back: the provider may have the message."""

    reason: str
    response: str | None = None


Outcome: TypeAlias = Accepted | Rejected | Unreached | Unsure


class NumberRecord(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """What the provider has on file of a number; None is what it did not say."""

    display_phone_number: str | None = None
    verified_name: str | None = None
    quality: str | None = None
    messaging_limit: str | None = None
    status: str | None = None
    webhook_url: str | None = None
    """Where it posts the number's webhooks."""


LookedUp: TypeAlias = NumberRecord | Rejected | Unreached | Unsure
