"""The result of a number check, as the API and the command line show it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from waypost.flow.accounts.check_number import NumberCheck
from waypost.model.time import to_datetime
from waypost.rules.receiving.number_check import NumberCheckState


class TrialView(msgspec.Struct, kw_only=True):
    """The provider's answer about a number and its token."""

    phone_number_id: str
    at: datetime
    state: NumberCheckState
    said: str
    """One line; never contains the token."""
    remedy: str | None
    """What to do when the number does not work."""
    code: str | None
    """The provider's error code when it refused."""
    display_phone_number: str | None
    verified_name: str | None
    quality: str | None
    messaging_limit: str | None
    status: str | None
    webhook_url: str | None
    """Where the provider sends the number's webhooks, if it is known."""


def trial_view(check: NumberCheck) -> TrialView:
    verdict, record = check.verdict, check.verdict.record
    return TrialView(
        phone_number_id=check.number.id,
        at=to_datetime(check.at),
        state=verdict.state,
        said=verdict.said,
        remedy=verdict.remedy,
        code=verdict.code,
        display_phone_number=record.display_phone_number,
        verified_name=record.verified_name,
        quality=record.quality,
        messaging_limit=record.messaging_limit,
        status=record.status,
        webhook_url=record.webhook_url,
    )
