"""How a number that was tried is shown, by the API and by the command line."""

from __future__ import annotations

from datetime import datetime

import msgspec

from waypost.flow.try_number import Tried
from waypost.model.time import to_datetime
from waypost.rules.number_trial import Trial


class TrialView(msgspec.Struct, kw_only=True):
    """What the provider says of a number and its token."""

    phone_number_id: str
    at: datetime
    state: Trial
    said: str
    """In one line; never with the token."""
    remedy: str | None
    """What to do, where it does not work."""
    code: str | None
    """The provider's error code, where it refused."""
    display_phone_number: str | None
    verified_name: str | None
    quality: str | None
    messaging_limit: str | None
    status: str | None
    webhook_url: str | None
    """Where the provider posts the number's webhooks, as far as it says."""


def trial_view(tried: Tried) -> TrialView:
    verdict, record = tried.verdict, tried.verdict.record
    return TrialView(
        phone_number_id=tried.number.id,
        at=to_datetime(tried.at),
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
