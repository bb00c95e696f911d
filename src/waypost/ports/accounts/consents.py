"""Consents: the latest of a dossier and of its addresses, for each channel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from waypost.model.dossier import Consent, ConsentStatus, DossierId
from waypost.model.ids import OrgId
from waypost.model.message import Channel
from waypost.model.time import Instant


class ConsentOnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The consents that apply to a new message."""

    dossier_known: bool
    """Whether the org has the given dossier."""
    dossier: ConsentStatus | None
    address: ConsentStatus | None


class Consents(Protocol):
    async def put(
        self, org: OrgId, dossier: DossierId, channel: Channel, status: ConsentStatus, actor: str, now: Instant
    ) -> Consent | None:
        """Record the consent of a dossier for a channel; None if the org has no such dossier.

        One transaction: the dossier's row, the row of the address that the channel uses (its phone, or its
        email), and the audit entry DOSSIER / CONSENT_CHANGED.
        """

    async def of(self, org: OrgId, dossier: DossierId) -> Sequence[Consent]:
        """The latest consent for each channel, sorted by channel."""

    async def word(self, org: OrgId, dossier: DossierId | None, address: str, channel: Channel) -> ConsentOnRecord:
        """The latest consents of the dossier and of the address for this channel, in one read."""
