"""Named statements in .sql files: `-- name: claim_pick` starts one, the comment below it explains it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from waypost.adapters.sql.engine import named_statements

_MESSAGE = (
    "id org_id sender channel recipient template subject payload dossier_id idempotency_key digest priority "
    "scheduled_at expires_at ordered max_attempts queue_id created_at created_by conversation_id exempt"
)
_DELIVERY = (
    "message_id org_id sender priority max_attempts queue_id outlet talk status generation fence first_fence tries "
    "due_at owner open_at_claim parked provider_id error_code error_message sent_at delivered_at read_at updated_at "
    "claimed_at deferred_by"
)

_CONVERSATION = "id org_id number contact_id address position last_id_at created_at assignee state labels"
_CHAT = "id org_id kind title pair own_feed history position last_id_at created_at"
_TURN_STATE = "conversation_id org_id tail done hi fence first_at due_at owner claimed_at lease_until tries floor"
_ENTRY = (
    "conversation_id position id_at at sender type body wamid message_id client_message_id deleted_at "
    "kept_in kept_at status"
)
_TURN = "conversation_id hi lo org_id state replies tries fence started_at ended_at error"

COLUMNS = {
    "{message}": ", ".join(f"m.{name}" for name in _MESSAGE.split()),
    "{delivery}": ", ".join(f"d.{name}" for name in _DELIVERY.split()),
    "{gate}": "g.id, g.org_id, g.name, g.kind, g.code, g.reason, g.since, g.until, g.times",
    "{mailbox}": "id, org_id, address, name, domain, host, port, security, username, sealed_password, enabled, "
    "created_at, updated_at, pace",
    "{conversation}": ", ".join(f"c.{name}" for name in _CONVERSATION.split()),
    "{chat}": ", ".join(f"c.{name}" for name in _CHAT.split()),
    "{lane}": ", ".join(f"l.{name}" for name in _TURN_STATE.split()),
    "{entry}": ", ".join(f"e.{name}" for name in _ENTRY.split()),
    "{turn}": ", ".join(f"t.{name}" for name in _TURN.split()),
    "{media}": "id, org_id, number, conversation_id, position, provider_id, mime_type, told_sha256, filename, state, "
    "tries, due_at, owner, created_at, size, sha256, key, error, stored_at",
    "{delivery of p}": ", ".join(f"p.{name}" for name in _DELIVERY.split()),
}
"""The column lists that the `rows` modules read by position, so that a statement cannot get their order wrong."""

_PART = re.compile(r"\{part (\w+) at (\$\d)\}")
"""`{part gate_in_front at $3}`: a shared fragment from the folder `parts`; `$3` replaces its `$now`."""


class SqlStatement(NamedTuple):
    name: str
    text: str
    set_wise: bool
    """The statement takes one array per column instead of one row of arguments."""


def parse(text: str) -> dict[str, SqlStatement]:
    return {
        name: SqlStatement(name, _completed(each.text), each.marked)
        for name, each in named_statements.split(text, "set-wise").items()
    }


def _completed(text: str) -> str:
    for mark, columns in COLUMNS.items():
        text = text.replace(mark, columns)
    return _PART.sub(lambda mark: _part(mark[1]).replace("$now", mark[2]), text)


@cache
def _part(name: str) -> str:
    return files("waypost.adapters.sql").joinpath("statements", "parts", f"{name}.sql").read_text().rstrip()


def load(package: str) -> dict[str, SqlStatement]:
    """Every statement of the package's `statements` folder, if it has one."""
    found: dict[str, SqlStatement] = {}
    folder = files(package).joinpath("statements")
    if not folder.is_dir():
        return found
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".sql"):
            found |= parse(entry.read_text())
    return found


def dialect(package: str) -> Mapping[str, SqlStatement]:
    """The statements that both databases share, overridden by the package's own."""
    return load("waypost.adapters.sql") | load(package)
