"""A message on its way from the business to a phone, and the statuses that tell of it."""

from __future__ import annotations

import base64
from typing import Any, Literal

import msgspec

from waypost.model.time import Instant, Span
from waypost.sandbox.contacts import Person
from waypost.sandbox.faults import Fault
from waypost.sandbox.graph_errors import webhook_error
from waypost.sandbox.numbers import SandboxNumber
from waypost.sandbox.recipients import Recipient, user_id_of
from waypost.sandbox.settings import Timing

Status = Literal["accepted", "sent", "delivered", "read", "failed"]
RANK: dict[Status, int] = {"accepted": 0, "sent": 1, "failed": 2, "delivered": 3, "read": 4}


class Letter(msgspec.Struct):
    """An accepted message; only `status` and `waiting` change."""

    number: SandboxNumber
    recipient: Recipient
    wamid: str
    kind: str
    body: bytes
    """The call as received: what the screen shows is read from it when somebody looks."""
    at: Instant
    pricing: dict[str, Any]
    opaque: str | None = None
    status: Status = "accepted"
    waiting: list[bytes] = msgspec.field(default_factory=list)
    """Webhooks that are not answered yet, oldest first."""

    def reached(self, status: Status) -> None:
        if RANK[status] > RANK[self.status]:
            self.status = status


class Step(msgspec.Struct, frozen=True):
    status: Status
    pause: Span
    """Since the step before."""
    error: int | None = None


def steps_of(kind: str, fault: Fault, error: int | None, timing: Timing) -> tuple[Step, ...]:
    """The statuses that will be posted for a message, in order."""
    if fault.statuses == "never":
        return ()
    if error is not None:
        return (Step("failed", timing.sent_after, error),)
    if kind == "reaction":  # Meta tells no more than `sent` of a reaction.
        return (Step("sent", timing.sent_after),)
    between = Span(max(0, timing.delivered_after - timing.sent_after))
    if fault.reorder_statuses:
        return (Step("delivered", timing.sent_after), Step("sent", between))
    return (Step("sent", timing.sent_after), Step("delivered", between))


def status_value(
    letter: Letter, status: Status, at: Instant, person: Person, error: int | None = None
) -> dict[str, Any]:
    """What the webhook of one status says."""
    told: dict[str, Any] = {"id": letter.wamid, "status": status, "timestamp": str(at // 1_000_000)}
    phone, user_id = letter.recipient.phone, user_id_of(letter.recipient.phone)
    if not letter.recipient.by_user_id:
        told["recipient_id"] = phone
    if status != "failed" or letter.recipient.by_user_id:
        told["recipient_user_id"] = user_id
    if letter.opaque is not None:
        told["biz_opaque_callback_data"] = letter.opaque
    if status == "failed" and error is not None:
        return {"statuses": [{**told, "errors": [webhook_error(error)]}]}
    if status in ("sent", "delivered"):
        told["pricing"] = letter.pricing
    contact = {"profile": person.profile(with_username=status != "sent"), "user_id": user_id}
    if not letter.recipient.by_user_id:
        contact["wa_id"] = phone
    return {"contacts": [contact], "statuses": [told]}


def pricing_of(category: str | None, window_open: bool) -> dict[str, Any]:
    """Templates cost by category, utility ones not inside the window; everything else is free."""
    free = category is None or (category == "utility" and window_open)
    return {
        "billable": not free,
        "pricing_model": "PMP",
        "type": "free_customer_service" if free else "regular",
        "category": category or "service",
    }


def wamid_of(phone: str, token: str) -> str:
    """Base64 of a small binary note that holds the phone, as Meta's ids do."""
    holder, unique = phone.encode(), token.encode()
    note = b"\x1c\x18" + bytes([len(holder) % 256]) + holder + b"\x15\x02\x00\x11\x18" + bytes([len(unique) % 256])
    return "wamid." + base64.b64encode(note + unique + b"\x00").decode()
