"""Actions that follow from the provider's updates about accounts, numbers, templates and preferences."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec

from waypost.model.dossier import ConsentStatus
from waypost.model.ids import NumberId, OrgId
from waypost.model.template import TemplateStatusChange
from waypost.model.time import Instant


class JournalState(StrEnum):
    """The state of a journaled item."""

    PENDING = "pending"
    """Not processed yet."""
    DONE = "done"
    """Acted on."""
    KEPT = "kept"
    """Stored; it needs no action."""
    FAILED = "failed"
    """It could not be parsed or applied; its error says why."""


class HoldCause(StrEnum):
    """Why an account is held; each cause is released only by an update of the same kind."""

    BAN = "ban"
    RESTRICTION = "restriction"
    PRESENCE = "presence"


class HoldAccount(msgspec.Struct, frozen=True, tag=True):
    """Nothing of the account can be sent."""

    cause: HoldCause
    code: str
    reason: str
    until: Instant | None = None
    """None: until the provider lifts it, or a person releases it."""


class ReleaseHold(msgspec.Struct, frozen=True, tag=True):
    """This cause no longer holds the account."""

    cause: HoldCause


class SetTier(msgspec.Struct, frozen=True, tag=True):
    """New customers a day that the account's templates may reach; None is no limit."""

    most: int | None


class SetPace(msgspec.Struct, frozen=True, tag=True):
    """Messages per second that the number may send from now on."""

    number: NumberId
    per_second: int


class RefreshTemplates(msgspec.Struct, frozen=True, tag=True):
    """The account's list of templates has changed."""


class SetTemplateStatus(msgspec.Struct, frozen=True, tag=True):
    """The status of a template has changed."""

    change: TemplateStatusChange


class SetMarketingPreference(msgspec.Struct, frozen=True, tag=True):
    """A customer's consent to marketing messages, for all addresses in the update."""

    addresses: tuple[str, ...]
    status: ConsentStatus
    at: Instant


class AlertOperator(msgspec.Struct, frozen=True, tag=True):
    """An operator should see this."""

    field: str
    what: str


UpdateAction: TypeAlias = (
    HoldAccount
    | ReleaseHold
    | SetTier
    | SetPace
    | RefreshTemplates
    | SetTemplateStatus
    | SetMarketingPreference
    | AlertOperator
)


class UpdateActions(msgspec.Struct, frozen=True):
    """The actions of one update; an update without actions is only stored."""

    acts: tuple[UpdateAction, ...] = ()
    failure: str | None = None
    """Why it could not be parsed."""

    @property
    def state(self) -> JournalState:
        if self.failure is not None:
            return JournalState.FAILED
        return JournalState.DONE if self.acts else JournalState.KEPT


class AccountUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A journaled item and its actions."""

    org_id: OrgId
    number: NumberId
    waba_id: str
    kind: str
    key: str
    at: Instant
    """When the provider sent it; an older update never overrides a newer one."""
    acts: tuple[UpdateAction, ...] = ()
    state: JournalState = JournalState.DONE
    error: str | None = None
