"""Attempt rows, from the worker's verdict or from a status update, and statuses that came before the verdict."""

from __future__ import annotations

from waypost.adapters.sql.kernel.transaction_state import TransactionState
from waypost.model.ids import Fence, MessageId, NumberId, Wamid
from waypost.model.message import Attempt, AttemptStatus, ClaimedMessage, Delivery
from waypost.model.time import Instant
from waypost.rules.sending import delivery as rule
from waypost.rules.sending.delivery import DeliveryVerdict

SILENT = "no answer and no status came"


def ended_attempt(message: ClaimedMessage, verdict: DeliveryVerdict, retry_at: Instant | None, now: Instant) -> Attempt:
    """The attempt as its worker saw it end."""
    return Attempt(
        message_id=message.id,
        fence=message.fence,
        generation=message.generation,
        attempt_no=message.tries,
        status=rule.attempt_status(verdict),
        error_code=getattr(verdict, "code", None),
        error_message=getattr(verdict, "message", None) or getattr(verdict, "reason", None),
        response=getattr(verdict, "response", None),
        next_retry_at=retry_at,
        created_at=message.claimed_at,
        finished_at=now,
    )


def attempt_from_report(
    delivery: Delivery,
    fence: Fence,
    status: AttemptStatus,
    now: Instant,
    code: str | None = None,
    message: str | None = None,
) -> Attempt:
    """The attempt as a status update ended it, or as a timeout did."""
    return Attempt(
        message_id=delivery.message_id,
        fence=fence,
        generation=delivery.generation,
        attempt_no=delivery.tries,
        status=status,
        error_code=code,
        error_message=message,
        response=None,
        next_retry_at=None,
        created_at=delivery.claimed_at or now,
        finished_at=now,
    )


def freed(work: TransactionState, message_id: MessageId) -> bool:
    queue_id = work.facts[message_id].queue_id
    return queue_id is not None and work.queues[queue_id].freed


def apply_waiting(
    work: TransactionState, key: tuple[NumberId, Wamid], message_id: MessageId, fence: Fence, now: Instant
) -> int:
    """Apply the statuses that came before the wamid was bound to a message."""
    org = work.facts[message_id].org_id
    waiting = [update for update in work.waiting_statuses.pop(key, []) if update.org_id == org]
    for update in waiting:
        work.change(rule.apply_status(work.deliveries[message_id], fence, update, now), now)
    if waiting:
        work.status_links.append((*key, org, message_id, fence))
    return len(waiting)
