"""What is done to a whole database while no server runs on it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from importlib.resources import files

import msgspec

from waypost.adapters.sql.statements import Statement, parse
from waypost.model.time import Instant
from waypost.ports.failure import LedgerError
from waypost.rules.delivery import UNSURE

SKIPPED = 1_000_000_000
"""Numbers of a feed that are left out: more than were ever given away between a backup and its return."""
_CHANGES = re.compile(r"^(?:UPDATE|INSERT INTO|DELETE FROM) (\w+)", re.MULTILINE)
RESTORED = "RESTORED"
"""The error code of what is held: `waypost admin replay ORG --error-code RESTORED` lets it go."""


class InUse(LedgerError):
    """Somebody works on the database; the message says how that is known."""


class Restoring(msgspec.Struct, frozen=True, kw_only=True):
    now: Instant
    token: str
    """Letters and digits that no earlier restoring had."""
    ids: int
    """So many ids of messages, conversations and so on are left out."""
    hold: bool


class Restored(msgspec.Struct, frozen=True, kw_only=True):
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


def statements(restoring: Restoring, tables: Collection[str]) -> Sequence[Statement]:
    """In the order in which they are run, all in one transaction; without those about a table that is not there."""
    named = [*_file("restored.sql"), *(_file("hold.sql") if restoring.hold else ())]
    return [each._replace(text=_filled(each.text, restoring)) for each in named if _changed(each) in tables]


def _changed(statement: Statement) -> str:
    found = _CHANGES.search(statement.text)
    return found[1] if found else ""


def _file(name: str) -> list[Statement]:
    return list(parse(files(__package__).joinpath(name).read_text()).values())


def _filled(text: str, restoring: Restoring) -> str:
    """Our own numbers and letters: nothing that somebody typed."""
    filled = {"now": str(restoring.now), "skip": str(SKIPPED), "token": restoring.token, "unsure": UNSURE}
    for name, value in filled.items():
        text = text.replace(f":{name}", value)
    return text
