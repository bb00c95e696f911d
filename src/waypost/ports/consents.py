"""What people agreed to: the latest word of a dossier, and of its addresses, for each channel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.dossier import Consent, ConsentStatus, DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """What is on record for one message to be."""

    dossier_known: bool
    """The org has the dossier that was asked about."""
    dossier: ConsentStatus | None
    address: ConsentStatus | None


class Consents(Protocol):
    async def put(
        self, org: OrgId, dossier: DossierId, channel: Channel, status: ConsentStatus, actor: str, now: Instant
    ) -> Consent | None:
        """Record what a dossier says to a channel; None when the org has no such dossier.

        One transaction: the dossier's row, the row of the address that the channel would use (its phone, or its
        email), and the audit entry DOSSIER / CONSENT_CHANGED.
        """

    async def of(self, org: OrgId, dossier: DossierId) -> Sequence[Consent]:
        """The latest of each channel, by the channel's name."""

    async def word(self, org: OrgId, dossier: DossierId | None, address: str, channel: Channel) -> Word:
        """The latest of the dossier and of the address for this channel, in one read."""
