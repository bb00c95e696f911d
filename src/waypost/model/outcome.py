"""The outcome of a call to the provider."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from waypost.model.ids import Wamid


class Accepted(msgspec.Struct, frozen=True, tag=True):
    wamid: Wamid
    response: str


class ProviderRejected(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """An error response of the Graph API; the error catalogue defines what it means."""

    code: str
    message: str
    subcode: int | None = None
    details: str | None
    trace: str | None
    retry_after: float | None
    response: str


class Unreached(msgspec.Struct, frozen=True, tag=True):
    """No connection was made, so the provider cannot have the message: the attempt failed."""

    reason: str


class Unsure(msgspec.Struct, frozen=True, tag=True):
    """The request may have been sent, and no Graph API answer came back: the provider may have the message."""

    reason: str
    response: str | None = None


Outcome: TypeAlias = Accepted | ProviderRejected | Unreached | Unsure


class NumberRecord(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The provider's record of a number; None for fields it did not return."""

    display_phone_number: str | None = None
    verified_name: str | None = None
    quality: str | None = None
    messaging_limit: str | None = None
    status: str | None = None
    webhook_url: str | None = None
    """Where it sends the number's webhooks."""


LookedUp: TypeAlias = NumberRecord | ProviderRejected | Unreached | Unsure
