"""Quick replies: answers that a team uses often."""

from __future__ import annotations

import msgspec

from waypost.model.ids import OrgId
from waypost.model.time import Instant


class QuickReply(msgspec.Struct, frozen=True, kw_only=True):
    org_id: OrgId
    name: str
    """As last written; unique regardless of case."""
    text: str
    updated_at: Instant
    updated_by: str
    """The id of a key or a user, or one of the actors in model/audit.py."""
