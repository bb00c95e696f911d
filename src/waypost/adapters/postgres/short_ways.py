"""The short ways in few round trips: decided on what was read, written by one statement where it still stands so.

A statement by itself is a transaction, so nothing is locked while Python thinks and no BEGIN or COMMIT travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from waypost.adapters.postgres.arriving import arrive
from waypost.adapters.sql.accepting import accepted, answers, once_each
from waypost.adapters.sql.intents import Settle
from waypost.adapters.sql.plan import Once, Plan, Row, each
from waypost.adapters.sql.reporting import Page, spoken_of
from waypost.adapters.sql.taking import Take
from waypost.adapters.sql.writer import ShortWays
from waypost.adapters.sql.writing import once_per_wamid
from waypost.model.message import Delivery
from waypost.ports.journal import Taken
from waypost.ports.outbox import Settled


def _accept(intents: Sequence[Settle]) -> Plan[list[Settled | None]]:
    told = once_each(intents)
    responses = {str(i.settlement.message.id): accepted(i).response for i in told}
    arguments = (max(i.now for i in told), _json([_acceptance(i) for i in told]), _json(responses))
    moved = yield Once("accept_at_once", arguments)
    return answers(intents, {row[0] for row in moved})


def _acceptance(intent: Settle) -> dict[str, Any]:
    message = intent.settlement.message
    return {
        "message_id": message.id,
        "fence": message.fence,
        "sender": message.sender,
        "wamid": accepted(intent).wamid,
    }


def _report(intents: Sequence[Take]) -> Plan[list[Taken | None]]:
    found = yield from each("delivery_read", spoken_of(intents))
    page = Page(found)
    taken = [page.take(intent) for intent in intents]
    if not page.reports:
        return taken
    version = {row[0]: row[-1] for row in found}
    moves = [_progress(d, version[d.message_id]) for d in page.moved()]
    now = max(intent.now for intent in intents)
    costs = [_named(_COST, row) for row in once_per_wamid(page.costs)]
    kept = [_named(_REPORT, row) for row in page.reports]
    still_so = yield Once("report_at_once", (now, _json(moves), _json(kept), _json(costs)))
    overtaken = page.changed - {row[0] for row in still_so}
    return [None if answer is None or _touches(answer, overtaken) else answer for answer in taken]


def _progress(d: Delivery, version: str) -> dict[str, Any]:
    return {
        "message_id": d.message_id,
        "version": version,
        "status": d.status.value,
        "error_code": d.error_code,
        "error_message": d.error_message,
        "sent_at": d.sent_at,
        "delivered_at": d.delivered_at,
        "read_at": d.read_at,
    }


_REPORT = (
    *("number", "wamid", "kind", "participant", "org_id", "message_id", "fence", "recipient", "at", "received_at"),
    *("error_code", "error_message", "body"),
)


_COST = (
    *("number", "wamid", "org_id", "message_id", "category", "type", "model", "country", "amount_micros", "currency"),
    *("at", "day"),
)


def _named(names: Sequence[str], row: Row) -> dict[str, Any]:
    return dict(zip(names, row, strict=True))


def _touches(answer: Taken, overtaken: set[Any]) -> bool:
    """Somebody else changed a delivery meanwhile; the report is kept, what it means is decided again."""
    return bool(overtaken) and any(move.after.message_id in overtaken for move in answer.moved)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


SHORT_WAYS = ShortWays(accept=_accept, report=_report, arrive=arrive)
