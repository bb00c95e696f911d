"""The state of one number and one customer: their 24-hour window, and how fast we may send."""

from __future__ import annotations

import msgspec

from waypost.model.ids import NumberId
from waypost.model.time import Instant

NEVER = Instant(0)


class RecipientState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A row of the table `pair`."""

    sender: NumberId
    recipient: str
    opened_at: Instant | None = None
    """When the customer wrote the first message of the current window."""
    last_inbound_at: Instant | None = None
    expires_at: Instant | None = None
    """When the window ends, unless the customer writes again."""
    free_at: Instant = NEVER
    """When the next message may be sent at the sustained rate; a burst may run ahead of it."""
    blocked_until: Instant = NEVER
    """The provider asked us to send nothing to this customer until then."""
    blocked_times: int = 0
    counted_at: Instant = NEVER
    """When a template last counted this customer as a new customer of the day."""
