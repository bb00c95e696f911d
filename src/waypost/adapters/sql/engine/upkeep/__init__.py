"""Maintenance of a whole database while no server runs on it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from importlib.resources import files

import msgspec

from waypost.adapters.sql.engine.statements import SqlStatement, parse
from waypost.model.time import Instant
from waypost.ports.platform.failure import LedgerError
from waypost.rules.sending.delivery import UNSURE

SKIPPED = 1_000_000_000
"""Feed numbers to skip: more than were ever assigned between a backup and its restore."""
_CHANGES = re.compile(r"^(?:UPDATE|INSERT INTO|DELETE FROM) (\w+)", re.MULTILINE)
RESTORED = "RESTORED"
"""The error code of held messages: `waypost admin replay ORG --error-code RESTORED` releases them."""


class DatabaseInUse(LedgerError):
    """Another program uses the database; the message says how that was found."""


class RestoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    now: Instant
    token: str
    """Letters and digits, unique to this restore."""
    ids: int
    """How many ids of messages, conversations and so on to skip."""
    hold: bool


class RestoreResult(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows each statement changed."""

    counts: dict[str, int]

    @property
    def devices(self) -> int:
        return self.counts["devices_renewed"]

    @property
    def held(self) -> int:
        return self.counts.get("messages_held", 0)

    @property
    def parked(self) -> int:
        return self.counts.get("sends_parked", 0)

    @property
    def turns(self) -> int:
        return self.counts.get("turns_handed_over", 0)


def statements(restoring: RestoreOptions, tables: Collection[str]) -> Sequence[SqlStatement]:
    """In execution order, all in one transaction; statements on tables that do not exist are left out."""
    named = [*_file("restored.sql"), *(_file("hold.sql") if restoring.hold else ())]
    return [each._replace(text=_filled(each.text, restoring)) for each in named if _changed(each) in tables]


def _changed(statement: SqlStatement) -> str:
    found = _CHANGES.search(statement.text)
    return found[1] if found else ""


def _file(name: str) -> list[SqlStatement]:
    return list(parse(files(__package__).joinpath(name).read_text()).values())


def _filled(text: str, restoring: RestoreOptions) -> str:
    """Fills in our own values only, never user input."""
    filled = {"now": str(restoring.now), "skip": str(SKIPPED), "token": restoring.token, "unsure": UNSURE}
    for name, value in filled.items():
        text = text.replace(f":{name}", value)
    return text
