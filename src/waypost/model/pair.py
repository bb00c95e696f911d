"""One of our numbers and one customer: the 24-hour window between them, and how fast we may write."""

from __future__ import annotations

import msgspec

from waypost.model.ids import NumberId
from waypost.model.time import Instant

NEVER = Instant(0)


class Pair(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    sender: NumberId
    recipient: str
    opened_at: Instant | None = None
    """When the customer's first message of the present window was written."""
    last_inbound_at: Instant | None = None
    expires_at: Instant | None = None
    free_at: Instant = NEVER
    """When the next message may go, if sent slowly; a burst may run ahead of it."""
    blocked_until: Instant = NEVER
    """The provider asked us to leave this customer alone."""
    blocked_times: int = 0
    counted_at: Instant = NEVER
    """When a template last counted this customer as a new one of the day."""
