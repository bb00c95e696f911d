"""How a try ended: as its worker tells it, as others tell it, and what statuses knew of it before."""

from __future__ import annotations

from waypost.adapters.sql.work import Work
from waypost.model.ids import Fence, MessageId, NumberId, Wamid
from waypost.model.message import Attempt, AttemptStatus, Claimed, Delivery
from waypost.model.time import Instant
from waypost.rules import delivery as rule
from waypost.rules.delivery import Verdict

SILENT = "no answer and no status came"


def ended(message: Claimed, verdict: Verdict, retry_at: Instant | None, now: Instant) -> Attempt:
    """A try as its worker tells it."""
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


def told_of(
    delivery: Delivery,
    fence: Fence,
    status: AttemptStatus,
    now: Instant,
    code: str | None = None,
    message: str | None = None,
) -> Attempt:
    """A try as others tell it: a report, or nobody at all."""
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


def freed(work: Work, message_id: MessageId) -> bool:
    queue_id = work.facts[message_id].queue_id
    return queue_id is not None and work.queues[queue_id].freed


def apply_waiting(work: Work, key: tuple[NumberId, Wamid], message_id: MessageId, fence: Fence, now: Instant) -> int:
    """Statuses that came before anybody knew whose wamid it was."""
    org = work.facts[message_id].org_id
    waiting = [told for told in work.waiting_reports.pop(key, []) if told.org_id == org]
    for told in waiting:
        work.change(rule.report(work.deliveries[message_id], fence, told, now), now)
    if waiting:
        work.report_links.append((*key, org, message_id, fence))
    return len(waiting)
