"""The fast paths in few round trips: read, decide, and write in one statement if nothing changed meanwhile.

A single statement is a transaction, so no lock is held while Python decides, and no BEGIN or COMMIT is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from waypost.adapters.postgres.fast_inbound import store_inbound_fast
from waypost.adapters.sql.engine.plan import Once, Plan, Row, each
from waypost.adapters.sql.kernel.apply_webhook import ApplyWebhook
from waypost.adapters.sql.kernel.commit_queues import FastPaths
from waypost.adapters.sql.kernel.fast_settle import accepted, answers, unique_by_message
from waypost.adapters.sql.kernel.fast_statuses import DeliveryBatch, named_messages
from waypost.adapters.sql.kernel.flush import once_per_wamid
from waypost.adapters.sql.kernel.outbox_intents import Settle
from waypost.model.message import Delivery
from waypost.ports.receiving.journal import AppliedWebhook
from waypost.ports.sending.outbox import Settled


def _accept(intents: Sequence[Settle]) -> Plan[list[Settled | None]]:
    unique = unique_by_message(intents)
    responses = {str(i.settlement.message.id): accepted(i).response for i in unique}
    arguments = (max(i.now for i in unique), _json([_acceptance(i) for i in unique]), _json(responses))
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


def _apply_statuses(intents: Sequence[ApplyWebhook]) -> Plan[list[AppliedWebhook | None]]:
    found = yield from each("delivery_read", named_messages(intents))
    batch = DeliveryBatch(found)
    taken = [batch.apply(intent) for intent in intents]
    if not batch.status_rows:
        return taken
    version = {row[0]: row[-1] for row in found}
    moves = [_progress(d, version[d.message_id]) for d in batch.moved()]
    now = max(intent.now for intent in intents)
    costs = [_named(_COST, row) for row in once_per_wamid(batch.costs)]
    kept = [_named(_REPORT, row) for row in batch.status_rows]
    still_so = yield Once("report_at_once", (now, _json(moves), _json(kept), _json(costs)))
    overtaken = batch.changed - {row[0] for row in still_so}
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


def _touches(answer: AppliedWebhook, overtaken: set[Any]) -> bool:
    """Another process changed a delivery meanwhile: the status is stored, and its effect is decided again."""
    return bool(overtaken) and any(move.after.message_id in overtaken for move in answer.moved)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


FAST_PATHS = FastPaths(accept=_accept, statuses=_apply_statuses, arrive=store_inbound_fast)
