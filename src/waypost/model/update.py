"""What the provider tells of an account, a number, its templates or a customer's wishes, as something to be done."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec

from waypost.model.dossier import ConsentStatus
from waypost.model.ids import NumberId, OrgId
from waypost.model.template import StatusChange
from waypost.model.time import Instant


class JournalState(StrEnum):
    """What has become of a journaled item."""

    PENDING = "pending"
    """Nobody has looked at it yet."""
    DONE = "done"
    """Acted on."""
    KEPT = "kept"
    """Nothing is to be done about it."""
    FAILED = "failed"
    """It could not be read or acted on; its error says why."""


class Cause(StrEnum):
    """Why an account may be held; each cause is taken back by its own kind of word only."""

    BAN = "ban"
    RESTRICTION = "restriction"
    PRESENCE = "presence"


class Hold(msgspec.Struct, frozen=True, tag=True):
    """Nothing of the account can be sent."""

    cause: Cause
    code: str
    reason: str
    until: Instant | None = None
    """None: until the provider takes it back, or somebody releases it."""


class Release(msgspec.Struct, frozen=True, tag=True):
    """This cause to hold the account is gone."""

    cause: Cause


class Tier(msgspec.Struct, frozen=True, tag=True):
    """New customers a day that the account's templates may reach; None is no limit."""

    most: int | None


class Pace(msgspec.Struct, frozen=True, tag=True):
    """Messages per second that the number may send from now on."""

    number: NumberId
    per_second: int


class Refresh(msgspec.Struct, frozen=True, tag=True):
    """The account's list of templates is not what it was."""


class TemplateStatus(msgspec.Struct, frozen=True, tag=True):
    """A template may be sent again, or no longer."""

    change: StatusChange


class Preference(msgspec.Struct, frozen=True, tag=True):
    """What a customer said to marketing messages, under every address that is known of them."""

    addresses: tuple[str, ...]
    status: ConsentStatus
    at: Instant


class Alert(msgspec.Struct, frozen=True, tag=True):
    """A person should know."""

    field: str
    what: str


Act: TypeAlias = Hold | Release | Tier | Pace | Refresh | TemplateStatus | Preference | Alert


class Told(msgspec.Struct, frozen=True):
    """What one update asks for. Nothing at all: it is only kept."""

    acts: tuple[Act, ...] = ()
    failure: str | None = None
    """Why it could not be read."""

    @property
    def state(self) -> JournalState:
        if self.failure is not None:
            return JournalState.FAILED
        return JournalState.DONE if self.acts else JournalState.KEPT


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """A journaled item and what it asks for."""

    org_id: OrgId
    number: NumberId
    waba_id: str
    kind: str
    key: str
    at: Instant
    """When the provider said it: an older word never undoes a newer one."""
    acts: tuple[Act, ...] = ()
    state: JournalState = JournalState.DONE
    error: str | None = None
