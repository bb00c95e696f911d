"""Answers that a team gives often."""

from __future__ import annotations

import msgspec

from waypost.model.ids import OrgId
from waypost.model.time import Instant


class QuickReply(msgspec.Struct, frozen=True, kw_only=True):
    org_id: OrgId
    name: str
    """As it was last written; there is one of each regardless of case."""
    text: str
    updated_at: Instant
    updated_by: str
    """The id of a key or a person, or one of the words of the audit trail."""
